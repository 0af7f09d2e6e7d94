//! Talking to oneself: sockets, TLS and HTTP over the loopback that every cell has.

use serde_json::json;

use super::gives;

#[tokio::test]
async fn sockets_of_every_ordinary_kind_work_over_loopback() {
    let script = r#"
import socket, select, selectors, array
out = {}
for name, family, host in [('four', socket.AF_INET, '127.0.0.1'), ('six', socket.AF_INET6, '::1')]:
    server = socket.create_server((host, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2], timeout=60)
    peer, _ = server.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.sendall(b'x' * 100_000); client.shutdown(socket.SHUT_WR)
    out[name] = sum(len(part) for part in iter(lambda: peer.recv(65536), b''))
a, b = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
a.bind(('127.0.0.1', 0)); b.sendto(b'datagram', a.getsockname())
out['datagram'] = a.recv(100).decode()
left, right = socket.socketpair()
with open('/tmp/passed', 'w+') as file:
    socket.send_fds(left, [b'f'], [file.fileno()])
_, fds, _, _ = socket.recv_fds(right, 1, 1)
os.write(fds[0], b'by descriptor')
out['passed'] = open('/tmp/passed').read()
out['abstract'] = True
listener = socket.socket(socket.AF_UNIX); listener.bind('\0name'); listener.listen()
socket.socket(socket.AF_UNIX).connect('\0name')
poll = select.poll(); poll.register(right, select.POLLIN); left.send(b'1')
epoll = select.epoll(); epoll.register(right, select.EPOLLIN)
chooser = selectors.DefaultSelector(); chooser.register(right, selectors.EVENT_READ)
out['ready'] = [bool(select.select([right], [], [], 60)[0]), bool(poll.poll(60_000)), bool(epoll.poll(60)), bool(chooser.select(60))]
out['name'] = [socket.gethostname(), socket.gethostbyname('localhost'), socket.gethostbyname(socket.gethostname())]
emit_result(out)
"#;
    let expected = json!({"four": 100_000, "six": 100_000, "datagram": "datagram", "passed": "by descriptor", "abstract": true,
        "ready": [true, true, true, true], "name": ["belljar", "127.0.0.1", "127.0.0.1"]});
    gives(script, expected).await;
}

#[tokio::test]
async fn http_is_served_and_fetched() {
    let script = r#"
import http.server, threading, urllib.request, urllib.error, http.client, xmlrpc.server, xmlrpc.client
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == '/' else 404); self.end_headers(); self.wfile.write(b'hello')
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200); self.end_headers(); self.wfile.write(body[::-1])
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f'http://localhost:{server.server_port}'
out = [urllib.request.urlopen(base + '/').read().decode(), urllib.request.urlopen(base + '/', data=b'abc').read().decode()]
try: urllib.request.urlopen(base + '/missing')
except urllib.error.HTTPError as error: out.append(error.code)
try: urllib.request.urlopen('http://example.com/', timeout=60)
except urllib.error.URLError as error: out.append(type(error.reason).__name__)
server.shutdown()
calls = xmlrpc.server.SimpleXMLRPCServer(('127.0.0.1', 0), logRequests=False)
calls.register_function(pow)
threading.Thread(target=calls.handle_request, daemon=True).start()
out.append(xmlrpc.client.ServerProxy('http://127.0.0.1:%d' % calls.server_address[1]).pow(2, 8))
emit_result(out)
"#;
    // There is no name service: a name that is not in /etc/hosts is not found, at once.
    gives(script, json!(["hello", "cba", 404, "gaierror", 256])).await;
}

/// A certificate for `localhost`, good until 2126, and its key. Both are worth nothing outside this
/// test.
const CERTIFICATE: &str = include_str!("localhost.pem");

#[tokio::test]
async fn tls_contexts_load_authorities_and_shake_hands() {
    let script = r#"
import ssl, socket, threading
open('/tmp/localhost.pem', 'w').write(CERTIFICATE)
ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
ours.load_cert_chain('/tmp/localhost.pem')
server = socket.create_server(('127.0.0.1', 0))
def serve():
    for _ in range(2):
        try:
            with ours.wrap_socket(server.accept()[0], server_side=True) as tls: tls.sendall(tls.recv(100).upper())
        except (ssl.SSLError, ConnectionError): pass
threading.Thread(target=serve, daemon=True).start()
def talk(context):
    with context.wrap_socket(socket.create_connection(server.getsockname(), 60), server_hostname='localhost') as tls:
        tls.sendall(b'secret')
        return tls.recv(100).decode()
default = ssl.create_default_context()
try: refused = talk(default)
except ssl.SSLCertVerificationError as error: refused = 'self' in error.verify_message
default.load_verify_locations('/tmp/localhost.pem')
emit_result([refused, talk(default)])
"#;
    let certificate = serde_json::to_string(CERTIFICATE).unwrap();
    gives(&format!("CERTIFICATE = {certificate}\n{script}"), json!([true, "SECRET"])).await;
}

#[tokio::test]
async fn the_hosts_certificate_authorities_are_loaded_by_default() {
    if !std::path::Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
        println!("authorities: skipped (this machine has none)");
        return;
    }
    let script = "import ssl\nemit_result(ssl.create_default_context().cert_store_stats()['x509_ca'] > 10)";
    // Only the system's interpreter is sure to look there.
    let Some(runtime) = belljar_testing::runtime() else { return };
    let sandbox = belljar_testing::sandbox_with(&runtime, super::roomy()).await;
    let places =
        "import ssl\nemit_result(ssl.get_default_verify_paths().openssl_cafile.startswith('/usr/lib/ssl'))";
    if belljar_testing::data(&belljar_testing::run(&sandbox, places).await) != "true" {
        println!("authorities: skipped (this interpreter brings a TLS library of its own)");
        return;
    }
    assert_eq!(belljar_testing::data(&belljar_testing::run(&sandbox, script).await), "true");
}
