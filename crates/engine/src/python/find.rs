//! The search: probes the most promising candidates first, until the answer is certain.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use belljar_core::config::PythonVersion;

use super::cache::Cache;
use super::candidates::{Candidate, candidates, named, places};
use super::choose::{Rank, is_supported, matches, may_match, newest};
use super::error::{PythonError, Rejected};
use super::interpreter::{Interpreter, OLDEST};
use super::probe::{Unfit, probe};
use super::search::Search;

/// The interpreter for a config: the newest patch release of the version it wants, else the version
/// nearest to 3.11.
pub fn find(wanted: Option<&PythonVersion>, search: &Search) -> Result<Interpreter, PythonError> {
    let mut survey = Survey::new(search);
    let found = match (&search.explicit, wanted) {
        (Some(explicit), _) => survey.explicit(explicit, wanted),
        (None, Some(wanted)) => survey.find_wanted(wanted),
        (None, None) => survey.find_nearest(),
    };
    survey.cache.save();
    // If some candidates could not be probed, the search does not know what there is.
    let found = match survey.unasked.take() {
        Some((path, source)) if found.is_err() => Err(PythonError::Unasked { path, source }),
        _ => found,
    };
    if let Ok(interpreter) = &found {
        tracing::debug!(executable = %interpreter.executable.display(), version = interpreter.dotted(), "chose python");
    }
    found
}

/// What one search has seen so far.
struct Survey<'a> {
    search: &'a Search,
    cache: Cache,
    found: Vec<Interpreter>,
    executables: HashSet<PathBuf>,
    rejected: Vec<Rejected>,
    /// A candidate that this machine lacked the means to probe.
    unasked: Option<(PathBuf, io::Error)>,
}

impl<'a> Survey<'a> {
    fn new(search: &'a Search) -> Self {
        let cache = Cache::open(search.cache.as_deref());
        Self {
            search,
            cache,
            found: Vec::new(),
            executables: HashSet::new(),
            rejected: Vec::new(),
            unasked: None,
        }
    }

    fn candidates(&mut self, places: &[PathBuf]) -> Vec<Candidate> {
        candidates(places, |place, error| self.unasked = Some((place.to_owned(), error)))
    }

    fn explicit(&mut self, file: &Path, wanted: Option<&PythonVersion>) -> Result<Interpreter, PythonError> {
        let unusable = |reason: String| PythonError::Unusable { path: file.to_owned(), reason };
        let Some(path) = named(file, &self.search.path) else {
            return Err(unusable("no such program".into()));
        };
        let interpreter = self.examine(&path).map_err(unusable)?;
        match wanted {
            Some(wanted) if !matches(wanted, interpreter.version) => Err(PythonError::Mismatch {
                path: file.to_owned(),
                version: interpreter.version,
                wanted: *wanted,
            }),
            _ => Ok(interpreter),
        }
    }

    /// Finds the wanted version. File names only decide what is probed first: before a version is
    /// called missing, everything is probed.
    fn find_wanted(&mut self, wanted: &PythonVersion) -> Result<Interpreter, PythonError> {
        let all = self.candidates(&places(self.search));
        let promising = |candidate: &Candidate| candidate.minor.is_none_or(|minor| may_match(wanted, minor));
        let (first, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(promising);
        for group in [first, rest] {
            for candidate in group {
                self.add(&candidate);
            }
            if let Some(interpreter) = newest(wanted, &self.found) {
                return Ok(interpreter.clone());
            }
        }
        self.found.sort_by_key(|interpreter| Reverse(interpreter.version));
        let found = self.found.drain(..).map(|interpreter| (interpreter.version, interpreter.executable));
        Err(PythonError::VersionMissing {
            wanted: *wanted,
            found: found.collect(),
            rejected: std::mem::take(&mut self.rejected),
        })
    }

    /// Finds the version nearest to 3.11. Stops when no file left can be better than the best so
    /// far.
    fn find_nearest(&mut self) -> Result<Interpreter, PythonError> {
        let places = places(self.search);
        let mut all = self.candidates(&places);
        // A name without a version may be the best of all. But names with the best version are
        // probed first.
        let promise = |candidate: &Candidate| candidate.minor.map_or(Rank::BEST, Rank::of_minor);
        all.sort_by_key(|candidate| (promise(candidate), candidate.minor.is_none()));
        for candidate in all {
            let best = self.found.iter().map(Rank::of).min();
            if best.is_some_and(|best| best <= promise(&candidate)) {
                break;
            }
            self.add(&candidate);
        }
        let best = self.found.iter().min_by_key(|interpreter| Rank::of(interpreter));
        best.cloned().ok_or_else(|| PythonError::NoneFound {
            looked_in: places,
            rejected: std::mem::take(&mut self.rejected),
        })
    }

    fn add(&mut self, candidate: &Candidate) {
        match self.examine(&candidate.path) {
            Ok(interpreter) => {
                if self.executables.insert(interpreter.executable.clone()) {
                    self.found.push(interpreter);
                }
            }
            Err(reason) => {
                tracing::debug!(path = %candidate.path.display(), reason, "set a python aside");
                self.rejected.push(Rejected { path: candidate.path.clone(), reason });
            }
        }
    }

    fn examine(&mut self, path: &Path) -> Result<Interpreter, String> {
        let interpreter = match self.cache.get(path) {
            Some(known) => known.clone(),
            None => {
                let learned = match probe(path, self.search.probe_limit) {
                    Ok(learned) => learned,
                    Err(Unfit::Itself(reason)) => return Err(reason),
                    Err(Unfit::Machine(error)) => {
                        let reason = error.to_string();
                        self.unasked = Some((path.to_owned(), error));
                        return Err(reason);
                    }
                };
                self.cache.put(path, &learned);
                learned
            }
        };
        if is_supported(interpreter.version) {
            Ok(interpreter)
        } else {
            Err(format!("is python {}, older than {}.{}", interpreter.dotted(), OLDEST.0, OLDEST.1))
        }
    }
}
