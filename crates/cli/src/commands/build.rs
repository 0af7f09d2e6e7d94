//! `belljar build`: builds the image of a sandbox before its first run.

use belljar::RuntimeError;
use serde::Serialize;

use crate::args::{BuildArgs, EngineName};
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::printer::{Output, Printer};
use crate::progress::Preparation;
use crate::settings::Settings;

#[derive(Serialize)]
struct Built {
    image: String,
    built: bool,
}

pub(super) async fn build(options: BuildArgs, verbose: bool) -> Result<End, CliError> {
    let settings = Settings::resolve(&options.sandbox, EngineName::Docker)?;
    let printer = Printer::new(Output::Human);
    let mut interrupts = Interrupts::listen()?;
    let making = async {
        let engine = settings.docker().open().await?;
        let mut preparation = Preparation::new(&printer, verbose);
        let (image, built) = engine.build(&settings.blueprint, &mut |step| preparation.show(&step)).await?;
        Ok::<_, RuntimeError>(Built { image, built })
    };
    let made = tokio::select! {
        made = making => made?,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    if options.json {
        printer.json(&made)?;
    } else {
        if !made.built {
            printer.note("unchanged, so it was not built again")?;
        }
        printer.text(&format!("{}\n", made.image))?;
    }
    Ok(End::Done)
}
