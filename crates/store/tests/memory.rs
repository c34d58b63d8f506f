//! The store without a disk keeps every promise.

use std::sync::Arc;

use pilothouse_store::{
    Memory, MemoryWorld, NodeId, Store, StoreError, conformance, conformance::World,
};
use uuid::Uuid;

struct Shared(Arc<MemoryWorld>);

fn world() -> Shared {
    Shared(MemoryWorld::new())
}

impl World for Shared {
    fn open(&self) -> Arc<dyn Store> {
        Memory::open(&self.0, NodeId(Uuid::now_v7().simple().to_string()))
    }

    fn kill(&self, node: Arc<dyn Store>) {
        self.0.kill(node.node());
    }

    fn at_rest(&self) -> Vec<u8> {
        format!("{:?}", self.0).into_bytes()
    }
}

conformance!(world());

#[tokio::test]
async fn a_node_that_is_dropped_is_dead() {
    let world = world();
    let (first, second) = (world.open(), world.open());
    let id = conformance::script::fresh();
    first.claim(id).await.unwrap();
    drop(first);
    assert!(!second.owner(id).await.unwrap().unwrap().1);
    second.claim(id).await.unwrap();
}

#[tokio::test]
async fn a_copy_of_nothing_is_refused() {
    let node = world().open();
    let refused = node.backup("copy.db".into()).await;
    assert!(matches!(refused, Err(StoreError::Unusable { .. })), "{refused:?}");
}
