//! What the connections of one cell share.

use std::sync::Arc;

use belljar_core::policy::{Denial, Rule, Target, decide};

use crate::audit::{Asked, Audit, OnDenial, Record};
use crate::authority::loggable_host;
use crate::budget::{Bytes, CellPorts, Descriptors, ProcessorTime, Rate, Share};
use crate::egress::Shared;
use crate::upstream::Pool;

/// Descriptors for the connections that a cell can always have, whatever others hold. This includes
/// the host's end of each.
const FLOOR: usize = 4 * PER_CONNECTION;

/// Descriptors per connection: the guest's end and the host's.
pub(crate) const PER_CONNECTION: usize = 2;

/// One cell, or one use of it. It shares nothing in here with another cell.
pub(crate) struct Cell {
    pub(crate) shared: Arc<Shared>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) bytes: Arc<Bytes>,
    pub(crate) dials: Rate,
    pub(crate) processor_time: Arc<ProcessorTime>,
    pub(crate) descriptors: Share,
    pub(crate) ports: CellPorts,
    /// Connections to hosts that wait for this cell's next request.
    pub(crate) pool: Pool,
}

impl Cell {
    pub(crate) fn new(shared: Arc<Shared>, on_denial: Option<OnDenial>) -> Self {
        let limits = &shared.limits;
        Self {
            audit: Arc::new(Audit::new(limits.decisions, on_denial)),
            bytes: Arc::new(Bytes::new(limits.bytes_per_run)),
            dials: Rate::new(limits.dials_per_second, limits.saved_dials),
            processor_time: Arc::new(ProcessorTime::new(limits.processor_cores, limits.saved_processor_time)),
            descriptors: Descriptors::of_this_process().share(FLOOR),
            ports: shared.ports.of_a_cell(),
            pool: Pool::default(),
            shared,
        }
    }

    /// Decides whether a host may be reached, and records a refusal.
    pub(crate) fn decide(&self, host: &str, port: u16) -> Result<Target, Denial> {
        self.judge(host, port).map_err(|rule| self.denied(host, port, rule))
    }

    /// The same, but the caller records a refusal.
    pub(crate) fn judge(&self, host: &str, port: u16) -> Result<Target, Rule> {
        match decide(&self.shared.policy, host, port) {
            Ok(_) if self.bytes.is_spent() => Err(Rule::Limit("bytes of this run")),
            decided => decided.map_err(|denial| denial.rule),
        }
    }

    /// Records a refusal that [`decide`] did not make.
    pub(crate) fn denied(&self, host: &str, port: u16, rule: Rule) -> Denial {
        let denial = Denial { host: loggable_host(host).to_owned(), port, rule };
        self.audit.deny(&denial);
        denial
    }

    /// Opens the record of an allowed target.
    pub(crate) fn open(&self, target: &Target) -> Arc<Record> {
        let entry = Some(target.entry.to_ascii_lowercase());
        Arc::new(self.audit.open(Asked { host: target.host.to_string(), port: target.port, entry }))
    }
}
