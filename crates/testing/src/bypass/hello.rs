//! TLS greetings that no TLS library would send.

/// A ClientHello with some extensions, cut into records of `size` bytes.
pub fn hello(extensions: &[Vec<u8>], size: usize) -> Vec<u8> {
    let extensions = extensions.concat();
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let message = [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat();
    let record = |part: &[u8]| [&[22, 3, 1][..], &(part.len() as u16).to_be_bytes(), part].concat();
    message.chunks(size).flat_map(record).collect()
}

/// The extension that names the server.
pub fn server_name(name: &[u8]) -> Vec<u8> {
    let entry = [&[0][..], &(name.len() as u16).to_be_bytes(), name].concat();
    extension(0, &[&(entry.len() as u16).to_be_bytes()[..], &entry].concat())
}

/// An extension of any kind.
pub fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), body].concat()
}
