//! The program: a guard at once, if it is to be one, else whatever the command line says.

use std::{env, process::ExitCode};

use pilothouse_server::cli;

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    // It stands between a broker and an agent, so it must be small and there at once.
    if args.next().is_some_and(|it| it == "guard") {
        return cli::guard::run(args);
    }
    cli::run(env::args_os())
}
