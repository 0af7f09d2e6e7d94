//! One test for each thing that CPython's own tests found broken in cells.

use belljar_testing::{data, run, runtime, sandbox_with};
use serde_json::json;

use super::gives;

#[tokio::test]
async fn well_known_ports_and_protocols_have_names() {
    if !belljar_testing::only_on("native", "the base image has no /etc/services") {
        return;
    }
    let script = "import socket\nemit_result([socket.getservbyname('https'), socket.getservbyport(22, 'tcp'), socket.getprotobyname('udp'), socket.getaddrinfo('127.0.0.1', 'http', type=socket.SOCK_STREAM)[0][4][1]])";
    gives(script, json!([443, "ssh", 17, 80])).await;
}

#[tokio::test]
async fn a_module_that_a_script_writes_can_be_imported() {
    // Also by the interpreters it starts, whichever way.
    let script = "import multiprocessing, subprocess, sys\n\
                  os.mkdir('package'); open('package/__init__.py', 'w').write('from .part import double')\n\
                  open('package/part.py', 'w').write('def double(n): return n * 2')\n\
                  import package\n\
                  with multiprocessing.get_context('spawn').Pool(1) as pool: spawned = pool.map(package.double, [1, 2])\n\
                  child = subprocess.check_output([sys.executable, '-c', 'import package; print(package.double(4))'], text=True)\n\
                  emit_result([package.double(21), spawned, child.strip()])";
    gives(script, json!([42, [2, 4], "8"])).await;
}

#[tokio::test]
async fn a_virtual_environment_can_be_made() {
    // Where the interpreter comes without the module, Debian's package for it is not installed.
    let script = "import importlib.util, subprocess, sys\n\
                  if importlib.util.find_spec('ensurepip') is None: emit_result('no ensurepip')\n\
                  else:\n\
                  \x20   made = subprocess.run([sys.executable, '-m', 'venv', '/workspace/env'], capture_output=True, text=True)\n\
                  \x20   pip = subprocess.run(['/workspace/env/bin/python', '-m', 'pip', '--version'], capture_output=True, text=True)\n\
                  \x20   emit_result(made.stdout + made.stderr + pip.stderr if made.returncode or pip.returncode else pip.stdout.split()[0])";
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, super::roomy()).await;
    match data(&run(&sandbox, script).await) {
        "\"no ensurepip\"" => println!("venv: skipped (this interpreter has no ensurepip)"),
        answer => assert_eq!(answer, "\"pip\""),
    }
}
