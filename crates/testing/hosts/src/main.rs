//! `belljar-host KIND` is a host of that kind. It exits with 0 if all went as that host expects, and
//! else panics with the reason.

mod few_descriptors;
mod no_tokio;

fn main() {
    let kind = std::env::args().nth(1).unwrap_or_default();
    match kind.as_str() {
        "few-descriptors" => few_descriptors::run(),
        "no-tokio" => no_tokio::run(),
        _ => panic!("no host is called `{kind}`"),
    }
}
