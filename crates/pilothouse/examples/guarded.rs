//! Run a program under a guard and say what it says: `guarded PROGRAM ARGS…`.
//!
//! Kill it in any way, and what it ran is gone as well. The guard is the example of that name, to
//! be built before; a program of your own would call `guard::run` first thing in `main`.

use std::{env, error::Error, io::Write, path::PathBuf};

use pilothouse::agent::{
    lines::Line,
    process::{GuardCommand, Output, Process, Spawn},
    tree::Marker,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args_os().skip(1);
    let program = PathBuf::from(args.next().ok_or("say which program to run")?);
    let node = format!("node-{}", std::process::id());
    let marker = Marker { store: "example".to_owned(), node, process: "1".to_owned() };
    let mut spawn = Spawn::new(program, marker);
    spawn.args = args.collect();
    let guard = env::current_exe()?.with_file_name("guard");
    spawn.guard = Some(GuardCommand { program: guard, args: Vec::new() });

    let mut process = Process::spawn(spawn).await?;
    let mut stdout = std::io::stdout();
    while let Some(output) = process.next().await {
        match output {
            Output::Line(Line::Text { text, lossy: _ } | Line::Torn { text }) => {
                writeln!(stdout, "{text}")?;
            }
            Output::Line(Line::TooLong { bytes }) => writeln!(stdout, "({bytes} bytes)")?,
            Output::Exit(exit) => writeln!(stdout, "{exit:?}")?,
        }
    }
    Ok(())
}
