//! A server on the loopback that says what it was told to, in the real wire format.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// One part of an answer's body.
#[derive(Clone)]
pub(crate) enum Part {
    Text(String),
    /// The connection breaks, after what came before has been sent.
    Break,
    Broken,
    /// Nothing more comes, and the connection stays.
    Hang,
    /// This again and again, without an end.
    Forever(&'static str),
}

/// One answer.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) parts: Vec<Part>,
}

impl Answer {
    /// A stream of events that ends well.
    pub(crate) fn stream(events: &[&str]) -> Self {
        let parts = events.iter().map(|event| Part::Text(format!("{event}\n\n"))).collect();
        Self { status: 200, headers: vec![("content-type", "text/event-stream".into())], parts }
    }

    /// JSON with a status.
    pub(crate) fn json(status: u16, body: &str) -> Self {
        let headers = vec![("content-type", "application/json".into())];
        Self { status, headers, parts: vec![Part::Text(body.into())] }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn then(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

/// What it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) body: Value,
}

/// Ends with its last clone.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: String,
    state: Arc<Mutex<(VecDeque<Answer>, Vec<Asked>)>>,
    _tasks: Arc<JoinSet<()>>,
}

struct Parts(VecDeque<Part>);

impl Body for Parts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = match self.0.front() {
            Some(Part::Forever(text)) => Some(Part::Text((*text).to_owned())),
            Some(Part::Hang) => return Poll::Pending,
            Some(Part::Break) => {
                // While nothing is ready, what there is is sent.
                self.0[0] = Part::Broken;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            _ => self.0.pop_front(),
        };
        Poll::Ready(next.map(|part| match part {
            Part::Text(text) => Ok(Frame::data(text.into())),
            _ => Err(io::Error::other("broken on purpose")),
        }))
    }
}

impl Server {
    /// Gives these answers, one after the other. After the last, the last again.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new((answers.into_iter().collect(), Vec::new())));
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&state);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(|request| answer(request, Arc::clone(&shared)));
                    // A client that leaves is no failure.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, state, _tasks: Arc::new(tasks) }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().1.clone()
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<(VecDeque<Answer>, Vec<Asked>)>>,
) -> Result<Response<Parts>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let asked = Asked {
        path: head.uri.path().to_owned(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap(),
    };
    let answer = {
        let mut state = state.lock().unwrap();
        state.1.push(asked);
        let next = if state.0.len() > 1 { state.0.pop_front() } else { state.0.front().cloned() };
        next.expect("there is an answer")
    };
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    Ok(response.body(Parts(answer.parts.into())).unwrap())
}
