//! What one run leaves in memory, and what all cells of a template are born with.

use std::collections::BTreeMap;

use belljar_core::Secret;
use belljar_runtime::{Blueprint, Runtime, SandboxConfig, ToolSource};
use belljar_testing::{about_the_run, config, engine, run, runtime, sandbox_with, session};
use serde_json::{Value, json};

use crate::support::{answer, default_sandbox, runtime_with_secrets, step};

/// A text of 32 bytes that is nowhere else, and the call that looks for it without holding it.
struct Mark {
    text: String,
    search: String,
}

impl Mark {
    /// Made in a cell, for want of a digest on this side.
    async fn new(runtime: &Runtime) -> Self {
        let sandbox = sandbox_with(runtime, config()).await;
        let made = answer(
            &sandbox,
            "import hashlib\nhead, tail = os.urandom(8).hex(), os.urandom(8).hex()\n\
             emit_result([head, tail, hashlib.sha256(tail.encode()).hexdigest()])",
        )
        .await;
        let part = |at: usize| made[at].as_str().unwrap();
        Self {
            text: format!("{}{}", part(0), part(1)),
            search: format!("memory_holds(b'{}', '{}')", part(0), part(2)),
        }
    }
}

#[tokio::test]
async fn memory_of_a_finished_run() {
    let Some(runtime) = runtime() else { return };
    let mark = Mark::new(&runtime).await;
    let sandbox = sandbox_with(&runtime, config()).await;
    let fill = format!("block = bytearray(b'{}' * (1 << 19))\nemit_result({})", mark.text, mark.search);
    assert_eq!(answer(&sandbox, &fill).await, json!(true), "the search does not find what is there");
    // As much memory again, none of it written to first.
    let look = format!("import mmap\nblock = mmap.mmap(-1, 1 << 24)\nemit_result({})", mark.search);
    for _ in 0..2 {
        assert_eq!(answer(&sandbox, &look).await, json!(false));
    }
}

#[tokio::test]
async fn a_secret_of_another_sandbox() {
    let Some(plain) = runtime() else { return };
    let mark = Mark::new(&plain).await;
    let secrets = BTreeMap::from([("TOKEN".to_owned(), Secret::new(mark.text.clone()))]);
    let Some(runtime) = runtime_with_secrets(secrets) else { return };
    let entitled = SandboxConfig { secrets: vec!["TOKEN".into()], ..config() };
    let entitled = sandbox_with(&runtime, entitled).await;
    let look = format!("emit_result([{}, 'TOKEN' in os.environ])", mark.search);
    let mut held = session(&entitled).await;
    assert_eq!(step(&mut held, &look).await, json!([true, true]), "the search does not find what is there");
    let other = sandbox_with(&runtime, config()).await;
    assert_eq!(answer(&other, &look).await, json!([false, false]));
}

#[tokio::test]
async fn a_script_that_was_run_before() {
    let Some(runtime) = runtime() else { return };
    let mark = Mark::new(&runtime).await;
    let sandbox = sandbox_with(&runtime, config()).await;
    assert!(run(&sandbox, &format!("# {}\nemit_result(1)", mark.text)).await.success());
    assert_eq!(answer(&sandbox, &format!("emit_result({})", mark.search)).await, json!(false));
}

/// Every generator that a cell could have inherited from its zygote in mid-stream.
const DRAWS: &str = "import random, secrets, tempfile, ssl\n\
    emit_result({'os': os.urandom(8).hex(), 'random': random.random(), 'own': random.Random().random(), 'secrets': secrets.token_hex(8),\n\
    'uuid1': str(uuid.uuid1()), 'uuid4': str(uuid.uuid4()), 'tempfile': tempfile.mktemp(), 'openssl': ssl.RAND_bytes(8).hex(),\n\
    'shuffle': random.sample(range(10**6), 3)})";

fn differ(one: &Value, other: &Value) {
    for (name, drawn) in one.as_object().unwrap() {
        assert_ne!(drawn, &other[name], "two cells draw the same from {name}");
    }
}

#[tokio::test]
async fn random_numbers_of_two_cells() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let (mut one, mut other) = (session(&sandbox).await, session(&sandbox).await);
    differ(&step(&mut one, DRAWS).await, &step(&mut other, DRAWS).await);
}

#[tokio::test]
async fn random_numbers_after_the_zygote_has_drawn_some() {
    let Some(runtime) = runtime() else { return };
    // Whatever is seeded on first use is seeded by this tool, before any cell is cloned.
    let source = "import random, secrets, ssl, tempfile, uuid\nrandom.random(); ssl.RAND_bytes(8); uuid.uuid4(); uuid.uuid1()\n\
                  secrets.token_hex(4); tempfile.mktemp(dir='/')\n";
    let tools = vec![ToolSource { file_name: "draws.py".into(), source: source.into() }];
    let sandbox =
        runtime.prepare(Blueprint { tools, ..Blueprint::new(config()) }, &mut |_| {}).await.unwrap();
    assert!(about_the_run(&sandbox.report().warnings).is_empty(), "{:?}", sandbox.report().warnings);
    let (mut one, mut other) = (session(&sandbox).await, session(&sandbox).await);
    differ(&step(&mut one, DRAWS).await, &step(&mut other, DRAWS).await);
}

/// What an interpreter chooses when it starts: the seed of its hashes, the layout of its memory.
const BORN_WITH: &str = "emit_result([hash('belljar'), id(None)])";

#[tokio::test]
async fn hashes_and_layout_of_two_templates() {
    let Some(runtime) = runtime() else { return };
    let one = sandbox_with(&runtime, config()).await;
    let env = BTreeMap::from([("ANOTHER".to_owned(), "template".to_owned())]);
    let other = sandbox_with(&runtime, SandboxConfig { env, ..config() }).await;
    let (one, other) = (answer(&one, BORN_WITH).await, answer(&other, BORN_WITH).await);
    assert_ne!(one[0], other[0], "two templates hash alike");
}

/// Accepted: cells of one template are copies of one zygote, so they share its hash seed and its
/// memory layout. A guest learns where things are in its neighbours of the same template, whose
/// memory it cannot reach; that is the price of a cell in a millisecond.
#[tokio::test]
async fn accepted_hashes_and_layout_of_two_cells() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    assert_eq!(answer(&sandbox, BORN_WITH).await, answer(&sandbox, BORN_WITH).await);
}

/// Accepted: where cells are used again, the kernel goes on counting. A guest learns how many
/// processes and files earlier uses of its own sandbox made, and nothing of what they were. A
/// native cell is never used again and counts from the start.
#[tokio::test]
async fn accepted_counts_of_earlier_uses() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let busy =
        "for n in range(40):\n    in_child(lambda: 0)\n    open(f'/tmp/{n}', 'w').close()\nemit_result(True)";
    let look = "open('/tmp/own', 'w').close()\nemit_result([os.getpid() > 40, os.stat('/tmp/own').st_ino > 40, os.listdir('/tmp')])";
    assert_eq!(answer(&sandbox, busy).await, json!(true));
    let counted = engine() == "docker";
    assert_eq!(answer(&sandbox, look).await, json!([counted, counted, ["own"]]));
}
