//! Ordinary clients reach an allowed host without knowing of the proxy.

use belljar_runtime::NetworkVerdict;
use belljar_testing::data;

use crate::world::World;

#[tokio::test]
async fn urllib_over_http_and_https() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "import ssl, urllib.request\ncontext = ssl.create_default_context(cafile=CA)\n\
                  plain = urllib.request.urlopen(f'http://api.test:{HTTP}/').read().decode()\n\
                  secure = urllib.request.urlopen(f'https://api.test:{HTTPS}/', context=context).read().decode()\n\
                  emit_result([plain, secure])";
    let result = world.run(&sandbox, script).await;
    assert_eq!(data(&result), r#"["hello","hello"]"#);
    let seen: Vec<_> =
        result.network.iter().map(|decision| (decision.host.as_str(), &decision.verdict)).collect();
    assert_eq!(seen, [("api.test", &NetworkVerdict::Allowed), ("api.test", &NetworkVerdict::Allowed)]);
    assert!(result.network.iter().all(|decision| decision.bytes_received > 0), "{:?}", result.network);
}

#[tokio::test]
async fn http_client_through_a_tunnel_of_its_own() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "import http.client, ssl\nhost, port = os.environ['https_proxy'].removeprefix('http://').split(':')\n\
                  c = http.client.HTTPSConnection(host, int(port), context=ssl.create_default_context(cafile=CA))\n\
                  c.set_tunnel('api.test', HTTPS)\nc.request('GET', '/')\nemit_result(c.getresponse().read().decode())";
    assert_eq!(data(&world.run(&sandbox, script).await), r#""hello""#);
}

#[tokio::test]
async fn curl() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "import shutil, subprocess\nif not shutil.which('curl'): emit_result('absent')\nelse:\n\
                  \x20   emit_result(subprocess.run(['curl', '-sS', '--cacert', CA, f'https://api.test:{HTTPS}/'], capture_output=True, text=True, timeout=60).stdout)";
    let result = world.run(&sandbox, script).await;
    if data(&result) == r#""absent""# {
        println!("curl: skipped (not installed)");
        return;
    }
    assert_eq!(data(&result), r#""hello""#);
}

#[tokio::test]
async fn requests_httpx_and_aiohttp() {
    let Some(world) = World::new().await else { return };
    let packages = ["requests", "httpx", "aiohttp"];
    let Some(sandbox) = world.sandbox_with_packages("api.test", &packages).await else { return };
    let script = "import aiohttp, httpx, requests, ssl\nurl, context = f'https://api.test:{HTTPS}/', ssl.create_default_context(cafile=CA)\n\
                  async def ask():\n    async with aiohttp.ClientSession(trust_env=True) as s:\n        async with s.get(url, ssl=context) as r: return await r.text()\n\
                  def refused():\n    try: requests.get(f'https://evil.test:{HTTPS}/')\n    except requests.exceptions.ProxyError: return True\n\
                  with httpx.Client(verify=context) as client: there = client.get(url).text\n\
                  emit_result([requests.get(url, verify=CA).text, there, asyncio.run(ask()), refused()])";
    assert_eq!(data(&world.run(&sandbox, script).await), r#"["hello","hello","hello",true]"#);
}

#[tokio::test]
async fn pip_downloads_from_an_allowed_index() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "import subprocess, sys\nif subprocess.run([sys.executable, '-m', 'pip', '--version'], capture_output=True).returncode: emit_result('absent')\nelse:\n\
                  \x20   index = f'https://api.test:{HTTPS}/simple'\n\
                  \x20   p = subprocess.run([sys.executable, '-m', 'pip', 'download', '--no-deps', '--no-cache-dir', '--disable-pip-version-check', '--cert', CA, '--index-url', index, '-d', '/tmp/got', 'tiny'], capture_output=True, text=True)\n\
                  \x20   emit_result(os.listdir('/tmp/got') if p.returncode == 0 else p.stderr)";
    let result = world.run(&sandbox, script).await;
    if data(&result) == r#""absent""# {
        println!("pip: skipped (this interpreter has none)");
        return;
    }
    assert_eq!(data(&result), r#"["tiny-1.0-py3-none-any.whl"]"#);
}

#[tokio::test]
async fn a_credential_is_set_on_the_way_out_and_never_seen_inside() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox_with_credential("api.test").await;
    // The host answers with the header it got.
    let script = "import urllib.request\nr = urllib.request.Request(f'http://api.test:{HTTP}/echo', headers={'X-Key': 'mine'})\n\
                  inside = [k for k, v in os.environ.items() if 'hunter2-hunter2' in v]\n\
                  emit_result([urllib.request.urlopen(r).read().decode(), inside])";
    let result = world.run(&sandbox, script).await;
    // It arrived there, and what came back is hidden.
    assert_eq!(data(&result), r#"["Token ***",[]]"#);
}

#[tokio::test]
async fn a_step_of_a_session_has_decisions_of_its_own() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let mut session = sandbox.session().await.unwrap();
    let ask =
        format!("import urllib.request\nurllib.request.urlopen('http://api.test:{}/').read()", world.http);
    let first = session.step(ask.as_str()).await.unwrap();
    let second = session.step("pass").await.unwrap();
    assert_eq!((first.network.len(), second.network.len()), (1, 0), "{first:#?}");
}
