//! One test for each thing that CPython's own tests found broken in cells.

use serde_json::json;

use super::gives;

#[tokio::test]
async fn well_known_ports_and_protocols_have_names() {
    let script = "import socket\nemit_result([socket.getservbyname('https'), socket.getservbyport(22, 'tcp'), socket.getprotobyname('udp'), socket.getaddrinfo('127.0.0.1', 'http', type=socket.SOCK_STREAM)[0][4][1]])";
    gives(script, json!([443, "ssh", 17, 80])).await;
}

#[tokio::test]
async fn archives_find_a_name_for_every_owner_they_meet() {
    let script = "import pwd, grp, tarfile, io\nowner = tarfile.TarInfo('x'); owner.uname = owner.gname = 'root'\n\
                  with tarfile.open('/tmp/a.tar', 'w') as tar: tar.addfile(owner)\n\
                  with tarfile.open('/tmp/a.tar') as tar: tar.extractall('/tmp/out')\n\
                  emit_result([pwd.getpwuid(0).pw_name, grp.getgrgid(0).gr_name, os.stat('/tmp/out/x').st_uid])";
    gives(script, json!(["root", "root", 1000])).await;
}
