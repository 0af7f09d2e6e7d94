//! Everything that is logged by this process, kept for reading.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};

use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<u8>>>);

impl Journal {
    /// The one journal of this process: it hears everything from the first call on, dependencies
    /// included.
    pub(crate) fn open() -> &'static Self {
        static JOURNAL: OnceLock<Journal> = OnceLock::new();
        JOURNAL.get_or_init(|| {
            let journal = Self::default();
            tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
                .with_ansi(false)
                .with_writer(journal.clone())
                .init();
            journal
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Journal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Journal {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
