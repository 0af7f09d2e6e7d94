//! The `belljar` command. All of it is in the library beside this.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(belljar_cli::main())
}
