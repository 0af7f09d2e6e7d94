//! A server that speaks S3, on a port of its own, for as long as the value lives.

use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use s3s::access::S3Access;
use s3s::auth::SimpleAuth;
use s3s::dto::PutObjectInput;
use s3s::service::S3ServiceBuilder;
use s3s::{Body, S3Request, S3Result};
use tokio::sync::{Mutex, oneshot};

pub(crate) const BUCKET: &str = "bucket";
pub(crate) const KEY_ID: &str = "someone";
pub(crate) const KEY: &str = "a secret";

/// What is wrong with the server.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    /// It overwrites where it should only create.
    pub(crate) ignores_conditions: bool,
    /// So many times it creates a record, and then says that it failed.
    pub(crate) lost_answers: usize,
}

pub(crate) struct S3Server {
    pub(crate) endpoint: String,
    /// How many answers are still to be lost.
    pub(crate) lost: Arc<AtomicUsize>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl S3Server {
    /// Serves a bucket whose objects are files in a directory.
    pub(crate) fn start(directory: &Path, faults: Faults) -> Self {
        std::fs::create_dir_all(directory.join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(directory).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY_ID, KEY));
        builder.set_access(Access { ignores_conditions: faults.ignores_conditions });
        let service = builder.build();

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (stop, mut stopped) = oneshot::channel();
        let lost = Arc::new(AtomicUsize::new(faults.lost_answers));
        let to_lose = lost.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                // S3 decides a condition and writes in one step. The files behind this do not.
                let one_at_a_time = Arc::new(Mutex::new(()));
                loop {
                    let (stream, _) = tokio::select! {
                        accepted = listener.accept() => accepted.unwrap(),
                        _ = &mut stopped => return,
                    };
                    let (service, lock, lost) = (service.clone(), one_at_a_time.clone(), to_lose.clone());
                    let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                        let (service, lock, lost) = (service.clone(), lock.clone(), lost.clone());
                        async move {
                            let is_creation = request.headers().contains_key("if-none-match")
                                && request.uri().path().contains("/records/");
                            let is_put = request.method() == Method::PUT;
                            let guard = if is_put { Some(lock.lock().await) } else { None };
                            let answer = service.call(request.map(Body::from)).await;
                            drop(guard);
                            let take = |left: usize| left.checked_sub(1);
                            let order = Ordering::SeqCst;
                            if is_creation && lost.fetch_update(order, order, take).is_ok() {
                                let failed =
                                    hyper::Response::builder().status(StatusCode::SERVICE_UNAVAILABLE);
                                return Ok::<_, Infallible>(failed.body(Body::empty()).unwrap());
                            }
                            Ok(answer.unwrap_or_else(|_| {
                                let failed =
                                    hyper::Response::builder().status(StatusCode::INTERNAL_SERVER_ERROR);
                                failed.body(Body::empty()).unwrap()
                            }))
                        }
                    });
                    let http = hyper::server::conn::http1::Builder::new();
                    tokio::spawn(http.serve_connection(TokioIo::new(stream), answer));
                }
            });
        });
        Self { endpoint, lost, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Access {
    ignores_conditions: bool,
}

type Checked<'a> = Pin<Box<dyn Future<Output = S3Result<()>> + Send + 'a>>;

impl S3Access for Access {
    fn put_object<'s, 'r, 'f>(&'s self, request: &'r mut S3Request<PutObjectInput>) -> Checked<'f>
    where
        's: 'f,
        'r: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            if self.ignores_conditions {
                request.input.if_none_match = None;
            }
            Ok(())
        })
    }
}
