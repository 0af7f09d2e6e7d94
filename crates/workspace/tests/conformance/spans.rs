//! What is told to whoever traces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use belljar_testing::runtime;
use tracing::Instrument;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::place::{inline, place};

#[derive(Clone, Debug, Default)]
struct Told {
    name: &'static str,
    parent: Option<&'static str>,
    fields: BTreeMap<&'static str, String>,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

/// Remembers every span, with its fields and what it is in.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<BTreeMap<u64, Told>>>);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Listener {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent()).map(|parent| parent.name());
        let mut told = Told { name: attributes.metadata().name(), parent, ..Told::default() };
        attributes.record(&mut told);
        // Ids are used again.
        let mut all = self.0.lock().unwrap();
        let number = all.len() as u64;
        all.insert(number << 32 | (id.into_u64() & 0xffff_ffff), told);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut all = self.0.lock().unwrap();
        let latest = all.iter_mut().rev().find(|(key, _)| *key & 0xffff_ffff == id.into_u64() & 0xffff_ffff);
        if let Some((_, told)) = latest {
            values.record(told);
        }
    }
}

impl Listener {
    fn named(&self, name: &str) -> Vec<Told> {
        self.0.lock().unwrap().values().filter(|told| told.name == name).cloned().collect()
    }
}

#[tokio::test]
async fn every_call_is_a_span_in_that_of_its_caller() {
    let Some(runtime) = runtime() else { return };
    let listener = Listener::default();
    let subscriber = tracing_subscriber::registry().with(listener.clone());
    let _default = tracing::subscriber::set_default(subscriber);
    let place = place(&runtime).await;
    let work = async {
        let job = place.job().await;
        job.put("a.txt", "A").await;
        job.stage(&place.outside("source"), "dst").await.unwrap();
        job.input("workspace://a.txt", "").await.unwrap();
        job.run(belljar_workspace::RunProgramSpec {
            cwd: "work".to_owned(),
            ..crate::place::sh("echo secret-output; exit 3")
        })
        .await;
        job.collect(&["*.txt", "none"]).await;
        job.outputs(&Default::default(), inline("work/**")).await.unwrap();
        job.cleanup().await.unwrap();
        job.ws
    };
    let ws = work.instrument(tracing::info_span!("caller")).await;
    let one = |name: &str, number: usize, expected: &[(&'static str, &str)]| {
        let told = listener.named(name);
        let told = told.get(number).unwrap_or_else(|| panic!("no span {name} {number}: {told:?}"));
        assert_eq!(told.parent, Some("caller"), "{told:?}");
        let expected: BTreeMap<_, _> =
            expected.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        assert_eq!(told.fields, expected, "{name}");
    };
    one("workspace.create", 0, &[("exec_id", "job")]);
    one("workspace.stage.files", 0, &[("count", "1")]);
    let source = place.outside("source").display().to_string();
    one("workspace.stage.dir", 0, &[("host_path", &source), ("to", "dst"), ("mount_used", "false")]);
    one("workspace.stage.files", 1, &[("count", "1")]);
    one("workspace.run", 0, &[("cmd", "sh"), ("cwd", "work"), ("exit_code", "3"), ("timed_out", "false")]);
    one("workspace.collect", 0, &[("patterns", "2"), ("count", "1")]);
    one("workspace.collect", 1, &[("patterns", "1"), ("count", "1")]);
    one("workspace.cleanup", 0, &[("path", &ws.path)]);
    let all = format!("{:?}", listener.0.lock().unwrap());
    assert!(!all.contains("secret-output"), "what a program prints is not in a span");
}
