//! Tokens that were taken back, or have expired: what they hold ends with them.

use std::collections::BTreeSet;

use crate::guard::Client;
use crate::state::App;

/// Ends runs, sessions and programs of tokens that are not known any more. Whoever follows them is
/// told that they are over.
pub(crate) fn end_what_they_hold(app: &App) {
    let Some(known) = known(app) else { return };
    let is_gone = |owner: &str| !known.contains(owner);
    app.runs.all().iter().filter(|run| is_gone(&run.owner)).for_each(|run| run.cancel());
    app.sessions.close_all(&is_gone);
    app.programs.kill_all(&is_gone);
}

/// Whether a client that was let in would still be.
pub(crate) fn is_known(app: &App, client: &Client) -> bool {
    known(app).is_none_or(|known| known.contains(&client.id))
}

/// The ids of tokens that are good. `None`: none is needed, or they cannot be read just now.
fn known(app: &App) -> Option<BTreeSet<String>> {
    let all = app.tokens.as_ref()?.all().inspect_err(|error| {
        tracing::error!(%error, "tokens cannot be read");
    });
    Some(all.ok()?.iter().filter(|token| token.is_good()).map(|token| token.id.clone()).collect())
}
