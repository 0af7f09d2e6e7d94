//! The metrics that Belljar keeps: their names, their labels, and what each says.
//!
//! Names only: nothing here counts anything. The engine and the runtime count through the `metrics`
//! facade, and a program that installs a recorder gets the figures. The manual's page is rendered
//! from [`ALL`].

/// What kind of figure a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// How often which values were seen.
    Histogram,
}

impl Kind {
    /// Its name, as exporters use it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric that Belljar keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name. It ends with its unit, or with `_total` if it only counts.
    pub name: &'static str,
    /// What kind of figure it is.
    pub kind: Kind,
    /// The names of its labels, all of which it always has.
    pub labels: &'static [&'static str],
    /// What it says.
    pub meaning: &'static str,
}

const fn metric(
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    Metric { name, kind, labels, meaning }
}

/// The label that names the engine.
pub const ENGINE: &str = "engine";
/// The label that names the sandbox, as its config does.
pub const SANDBOX: &str = "sandbox";
/// The label that names the verdict of a run, or of a network decision.
pub const VERDICT: &str = "verdict";
/// The label that names how something came out.
pub const OUTCOME: &str = "outcome";
/// The label that names the status of an HTTP answer.
pub const STATUS: &str = "status";
/// The label that names a route of a server, with names in place of ids.
pub const ROUTE: &str = "route";
/// The label that names a tool.
pub const TOOL: &str = "tool";
/// The label that names why something happened.
pub const REASON: &str = "reason";

/// The `verdict` of a run that has no result: it was dropped, or its sandbox was closed.
pub const ABANDONED: &str = "abandoned";

/// Runs that ended.
pub const RUNS: Metric = metric(
    "belljar_runs_total",
    Kind::Counter,
    &[ENGINE, VERDICT],
    "Runs and steps that ended, by the verdict of their result. `abandoned` are those without a result: \
     dropped by the caller, or ended because the sandbox was closed.",
);
/// Wall time of runs.
pub const RUN_SECONDS: Metric = metric(
    "belljar_run_seconds",
    Kind::Histogram,
    &[ENGINE],
    "Wall time of runs and steps, from request to result. The wait for a cell is not part of it.",
);
/// Output of runs.
pub const RUN_OUTPUT_BYTES: Metric = metric(
    "belljar_run_output_bytes_total",
    Kind::Counter,
    &[ENGINE],
    "Bytes that guests sent in runs that have a result: frames, stdout and stderr.",
);
/// Calls of host tools.
pub const TOOL_CALLS: Metric = metric(
    "belljar_tool_calls_total",
    Kind::Counter,
    &[ENGINE, OUTCOME],
    "Calls of tools of the host's that scripts made, those of MCP servers among them: `ok`, or `failed` if \
     the tool failed, was refused, or had no answer when the run ended.",
);
/// How long host tools take.
pub const TOOL_CALL_SECONDS: Metric = metric(
    "belljar_tool_call_seconds",
    Kind::Histogram,
    &[ENGINE],
    "How long calls of tools of the host's took, from the script's call to the answer.",
);
/// Decisions of the proxy.
pub const NETWORK_DECISIONS: Metric = metric(
    "belljar_network_decisions_total",
    Kind::Counter,
    &[ENGINE, VERDICT],
    "Connections and requests that guests asked the proxy for: `allowed`, `denied`, or `failed`.",
);
/// Checkouts.
pub const CHECKOUTS: Metric = metric(
    "belljar_checkouts_total",
    Kind::Counter,
    &[ENGINE, SANDBOX, OUTCOME],
    "Callers who asked for a cell: `warm` got one that was idle, `waited` had to wait for theirs, \
     `timed_out` and `gave_up` stopped waiting, `refused` could not be given one.",
);
/// The wait for a cell.
pub const CHECKOUT_SECONDS: Metric = metric(
    "belljar_checkout_wait_seconds",
    Kind::Histogram,
    &[ENGINE, SANDBOX],
    "How long callers who got a cell waited for it.",
);
/// Cells that were made.
pub const CELLS_MADE: Metric =
    metric("belljar_cells_made_total", Kind::Counter, &[ENGINE, SANDBOX], "Cells that were made.");
/// Cells that could not be made.
pub const CELLS_FAILED: Metric = metric(
    "belljar_cells_failed_total",
    Kind::Counter,
    &[ENGINE, SANDBOX],
    "Attempts to make a cell that failed.",
);
/// How long cells take to be made.
pub const CELL_SPAWN_SECONDS: Metric = metric(
    "belljar_cell_spawn_seconds",
    Kind::Histogram,
    &[ENGINE, SANDBOX],
    "How long it took to make a cell.",
);
/// Cells that were made as good as new.
pub const CELLS_RESET: Metric = metric(
    "belljar_cells_reset_total",
    Kind::Counter,
    &[ENGINE, SANDBOX],
    "Cells that were made as good as new for another use.",
);
/// Cells that were destroyed.
pub const CELLS_RETIRED: Metric = metric(
    "belljar_cells_retired_total",
    Kind::Counter,
    &[ENGINE, SANDBOX, REASON],
    "Cells that were destroyed: `used` after their last use or their session, `cut_short` because the run \
     in a cell that may be used again was killed or lost, `in_doubt` because a reset failed, `died_idle` \
     because they were found dead, `surplus` because nobody needs them any more. Cells that are used once \
     are `used` however their run ended.",
);
/// Cells that wait to be used.
pub const CELLS_IDLE: Metric =
    metric("belljar_cells_idle", Kind::Gauge, &[ENGINE, SANDBOX], "Cells that are ready and waiting.");
/// Cells in use.
pub const CELLS_LEASED: Metric = metric(
    "belljar_cells_leased",
    Kind::Gauge,
    &[ENGINE, SANDBOX],
    "Cells that are in use, or being reset after it.",
);
/// Templates.
pub const TEMPLATES: Metric = metric(
    "belljar_templates",
    Kind::Gauge,
    &[ENGINE],
    "Templates that are live, also those that are only kept warm.",
);
/// Preparations of templates.
pub const PREPARE_SECONDS: Metric = metric(
    "belljar_template_prepare_seconds",
    Kind::Histogram,
    &[ENGINE, OUTCOME],
    "How long it took to prepare a template, and whether that was `ok` or `failed`.",
);
/// Zygotes that died.
pub const TEMPLATES_REVIVED: Metric = metric(
    "belljar_templates_revived_total",
    Kind::Counter,
    &[ENGINE, SANDBOX],
    "Templates that were prepared again because what their cells are made from had died.",
);
/// Answers of a server.
pub const SERVER_ANSWERS: Metric = metric(
    "belljar_server_answers_total",
    Kind::Counter,
    &[STATUS],
    "Requests that `belljar serve` answered, by the status of the answer. Those that asked for events \
     count when the first is sent.",
);
/// Runs that go on in a server.
pub const SERVER_RUNNING: Metric =
    metric("belljar_server_runs_running", Kind::Gauge, &[], "Runs of `belljar serve` that have a place.");
/// Runs that wait in a server.
pub const SERVER_WAITING: Metric =
    metric("belljar_server_runs_waiting", Kind::Gauge, &[], "Runs of `belljar serve` that wait for a place.");
/// Sessions of a server.
pub const SERVER_SESSIONS: Metric =
    metric("belljar_server_sessions", Kind::Gauge, &[], "Sessions that clients of `belljar serve` hold.");

/// The wait for a place in a server.
pub const SERVER_QUEUE_SECONDS: Metric = metric(
    "belljar_server_queue_wait_seconds",
    Kind::Histogram,
    &[],
    "How long runs and programs of `belljar serve` that got a place waited for it.",
);
/// How long a server takes to answer.
pub const SERVER_ANSWER_SECONDS: Metric = metric(
    "belljar_server_answer_seconds",
    Kind::Histogram,
    &[ROUTE],
    "How long `belljar serve` took to answer, by the route. An answer that is a stream counts when it \
     begins.",
);
/// Calls of a server's own MCP tools.
pub const SERVER_MCP_CALLS: Metric = metric(
    "belljar_server_mcp_calls_total",
    Kind::Counter,
    &[TOOL, OUTCOME],
    "Calls of the tools that `belljar serve` and `belljar mcp` offer over MCP: `ok`, or `refused`. A script \
     that failed is an answer, too.",
);
/// Programs that were compiled for graders.
pub const SERVER_COMPILATIONS: Metric = metric(
    "belljar_server_compilations_total",
    Kind::Counter,
    &[],
    "Programs of graders that `belljar serve` compiled. Those that were compiled before are not compiled again.",
);

/// Every metric that a server keeps, besides [`ALL`].
pub const OF_THE_SERVER: [Metric; 8] = [
    SERVER_ANSWERS,
    SERVER_ANSWER_SECONDS,
    SERVER_RUNNING,
    SERVER_WAITING,
    SERVER_QUEUE_SECONDS,
    SERVER_SESSIONS,
    SERVER_MCP_CALLS,
    SERVER_COMPILATIONS,
];

/// Every metric that the library keeps.
pub const ALL: [Metric; 18] = [
    RUNS,
    RUN_SECONDS,
    RUN_OUTPUT_BYTES,
    TOOL_CALLS,
    TOOL_CALL_SECONDS,
    NETWORK_DECISIONS,
    CHECKOUTS,
    CHECKOUT_SECONDS,
    CELLS_MADE,
    CELLS_FAILED,
    CELL_SPAWN_SECONDS,
    CELLS_RESET,
    CELLS_RETIRED,
    CELLS_IDLE,
    CELLS_LEASED,
    TEMPLATES,
    PREPARE_SECONDS,
    TEMPLATES_REVIVED,
];
