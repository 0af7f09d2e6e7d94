//! Calls of a host tool, as the script that makes them sees it.

use std::time::Duration;

use belljar::tools::{HostTool, Kind, Parameter, Tool};
use belljar::{Json, Runtime, ToolRegistry};

use super::report::Report;
use super::{bare_config, check};
use crate::error::CliError;

/// The script gives the seconds of each call, after some that are not counted.
const ONE_BY_ONE: &str = "\
for _ in range(50): echo(0)
times, clock = [], time.perf_counter
for number in range(COUNT):
    begun = clock()
    echo(number)
    times.append(clock() - begun)
emit_result(times)
";

/// As many at the same time as there may be.
const AT_ONCE: &str = "\
async def timed(number):
    begun = time.perf_counter()
    await echo(number)
    return time.perf_counter() - begun
async def all_of_them():
    return await asyncio.gather(*(timed(number) for number in range(100)))
emit_result(asyncio.run(all_of_them()))
";

pub(super) async fn measure(runtime: &Runtime, count: usize, report: &mut Report) -> Result<(), CliError> {
    let tools = ToolRegistry::new().with(echo()).map_err(anyhow::Error::from)?;
    let sandbox = runtime.sandbox(tools.for_config(bare_config("bench-tools"))).await?;
    let scripts = [
        ("host tool, from call to answer", ONE_BY_ONE.replace("COUNT", &count.to_string())),
        ("host tool, 100 calls at once, each", AT_ONCE.to_owned()),
    ];
    for (name, script) in scripts {
        let result = sandbox.run(script.as_str()).await?;
        check(&result)?;
        let seconds: Vec<f64> =
            result.final_data.as_ref().and_then(|data| data.to().ok()).unwrap_or_default();
        report.add(name, seconds.into_iter().map(Duration::from_secs_f64).collect());
    }
    Ok(())
}

fn echo() -> HostTool {
    let tool =
        Tool::new("echo", "Gives back what it gets").with_parameter(Parameter::new("value", Kind::Any));
    HostTool::described(tool, |_, arguments: Json| Box::pin(async move { Ok(arguments) })).raising()
}
