//! The host's own resolver, between a proxy and a real DNS server. Checks what it asks for, and
//! that no answer leads further in than the policy says.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use belljar_core::NetworkVerdict;
use belljar_proxy::{Limits, SystemResolver};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::names::{A, AAAA, Answer, Names};
use crate::world::{ALLOWED, Host, policy, proxy, read_answer};

async fn get(proxy: SocketAddr, host: &str) -> String {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    // With a body, so that each request uses its own connection.
    let request = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\n\r\nx");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_answer(&mut stream).await
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// One request for an allowed name through a fresh proxy. Returns what the guest was told.
async fn get_once(host: &Host, names: &Names) -> String {
    let resolver = SystemResolver::asking(names.address).unwrap();
    let (_cell, proxy) = proxy(policy(&[host.port]), resolver, Limits::default());
    get(proxy, &format!("good.test:{}", host.port)).await
}

#[tokio::test]
async fn a_name_is_asked_for_in_both_families_and_without_search_domains() {
    let host = Host::start().await;
    let names = Names::serve(|_, _| Answer::Addresses(vec![ALLOWED]));
    let answer = get_once(&host, &names).await;
    assert!(answer.ends_with("hello"), "{answer}");
    assert_eq!(names.asked(), [("good.test.".to_owned(), A), ("good.test.".into(), AAAA)]);
}

#[tokio::test]
async fn one_bad_address_among_the_answers_is_enough() {
    for (addresses, rule) in [
        (vec![ALLOWED, address("::1")], "leads to a loopback"),
        (vec![ALLOWED, address("10.0.0.1")], "leads to a private"),
        (vec![address("192.168.0.1"), ALLOWED], "leads to a private"),
        (vec![ALLOWED, address("::ffff:169.254.169.254")], "leads to a cloud metadata"),
        (vec![address("fe80::1")], "leads to a link-local"),
        (vec![address("127.0.0.78")], "leads to a loopback"),
    ] {
        let host = Host::start().await;
        let names = Names::serve({
            let addresses = addresses.clone();
            move |_, _| Answer::Addresses(addresses.clone())
        });
        let answer = get_once(&host, &names).await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains(rule), "{addresses:?}: {answer}");
        assert_eq!(host.heard(), "", "{addresses:?}");
    }
}

#[tokio::test]
async fn an_alias_is_followed_and_where_it_leads_is_vetted() {
    let host = Host::start().await;
    let inside = Names::serve(|_, _| Answer::Alias("intranet.test", vec![address("10.1.2.3")]));
    let answer = get_once(&host, &inside).await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("leads to a private"), "{answer}");
    assert_eq!(host.heard(), "");
    let outside = Names::serve(|_, _| Answer::Alias("cdn.test", vec![ALLOWED]));
    assert!(get_once(&host, &outside).await.ends_with("hello"));
}

#[tokio::test]
async fn an_answer_that_changes_is_vetted_each_time() {
    let host = Host::start().await;
    let names = Names::serve(|_, before| match before {
        0 => Answer::Addresses(vec![ALLOWED]),
        _ => Answer::Addresses(vec![address("127.0.0.66")]),
    });
    let resolver = SystemResolver::asking(names.address).unwrap();
    let (cell, proxy) = proxy(policy(&[host.port]), resolver, Limits::default());
    let name = format!("good.test:{}", host.port);
    assert!(get(proxy, &name).await.ends_with("hello"));
    let second = get(proxy, &name).await;
    assert!(second.starts_with("HTTP/1.1 403 ") && second.contains("leads to a loopback"), "{second}");
    assert_eq!(host.heard().matches("HTTP/1.1").count(), 1);
    assert_eq!(cell.take_decisions().len(), 2);
}

#[tokio::test]
async fn no_address_is_a_failure_with_a_reason() {
    let host = Host::start().await;
    for (answer, reason) in [
        ((|| Answer::Unknown) as fn() -> Answer, "no such host"),
        (|| Answer::Addresses(Vec::new()), "no such host"),
        (|| Answer::Failure, "the resolver does not answer"),
    ] {
        let names = Names::serve(move |_, _| answer());
        let told = get_once(&host, &names).await;
        assert!(told.starts_with("HTTP/1.1 502 ") && told.contains(reason), "{told}");
        assert!(
            !told.contains(&names.address.to_string()),
            "where the host asks is nobody's business: {told}"
        );
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for() {
    let names = Names::serve(|_, _| Answer::Silence);
    let resolver = SystemResolver::asking(names.address).unwrap();
    let mut limits = Limits::default();
    limits.connect_time = Duration::from_millis(200);
    let (cell, proxy) = proxy(policy(&[80]), resolver, limits);
    let told = get(proxy, "good.test").await;
    assert!(told.starts_with("HTTP/1.1 504 ") && told.contains("no connection in time"), "{told}");
    let decisions = cell.take_decisions();
    assert!(
        matches!(&decisions[..], [one] if matches!(one.verdict, NetworkVerdict::Failed { .. })),
        "{decisions:?}"
    );
}

/// Names that `/etc/hosts` gives to this machine itself, with their family. `localhost` is one
/// everywhere.
fn names_of_this_machine() -> Vec<(String, u16)> {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let mut names = vec![("localhost".to_owned(), A)];
    for line in hosts.lines().map(|line| line.split('#').next().unwrap_or_default()) {
        let mut words = line.split_whitespace();
        let Some(Ok(own)) = words.next().map(str::parse::<IpAddr>) else { continue };
        let kind = if own.is_ipv4() { A } else { AAAA };
        names.extend(words.filter(|_| own.is_loopback()).map(|name| (name.to_ascii_lowercase(), kind)));
    }
    names
}

#[tokio::test]
async fn names_of_the_hosts_file_lead_where_it_says_and_are_vetted_like_others() {
    let names = Names::serve(|_, _| Answer::Addresses(vec![ALLOWED]));
    for (name, kind) in names_of_this_machine() {
        let mut policy = policy(&[80]);
        policy.allowed_hosts.push(name.clone());
        policy.allowed_ports.insert(name.clone(), vec![80]);
        let (_cell, proxy) = proxy(policy, SystemResolver::asking(names.address).unwrap(), Limits::default());
        let told = get(proxy, &name).await;
        assert!(told.starts_with("HTTP/1.1 403 ") && told.contains("leads to a loopback"), "{name}: {told}");
        assert!(!names.asked().contains(&(format!("{name}."), kind)), "the file comes first, for {name}");
    }
}
