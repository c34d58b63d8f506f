//! The description of REST that is kept beside the code, for those who generate clients from it.

use std::{env, fs, path::Path};

use pilothouse_testkit::FakeAgent;
use serde_json::{Value, json};

use crate::desk::Desk;

/// Set to anything, it makes the test write the file anew.
const UPDATE: &str = "UPDATE_SCHEMAS";

#[tokio::test]
async fn the_file_is_what_is_served() {
    let desk = Desk::open(&FakeAgent::new(&[]).unwrap()).await;
    let mut served = desk.get("/api/v1/openapi.json").await.body;
    desk.close().await;
    // Each home has a cookie of its own.
    let name = &mut served["components"]["securitySchemes"]["login"]["name"];
    let digits = name.as_str().and_then(|it| it.strip_prefix("pilothouse-")).unwrap();
    assert!(digits.len() == 8 && digits.bytes().all(|it| it.is_ascii_hexdigit()), "{digits}");
    *name = json!("pilothouse-00000000");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json");
    if env::var_os(UPDATE).is_some() {
        fs::write(&path, format!("{served:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(
        kept == served,
        "schemas/openapi.json is not what is served; run this test with {UPDATE}=1, and look at \
         what has changed: {served:#}"
    );
}
