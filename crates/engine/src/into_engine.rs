//! How an engine is handed to whoever runs on it.

use std::sync::Arc;

use crate::engine::{BoxFuture, Engine};
use crate::error::EngineError;

/// Anything an engine can be had from: settings that have not looked at the machine yet, or an engine.
///
/// `belljar-engine`'s own settings (`Native`, `Docker`, `Local`) are opened when they are asked. An engine is
/// handed on as it is, owned or shared. Nobody outside needs to implement this: implement [`Engine`].
pub trait IntoEngine: Send + Sync + 'static {
    /// The engine, ready to be asked for templates.
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>>;
}

impl<E: Engine> IntoEngine for E {
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> {
        Arc::new(self).into_engine()
    }
}

impl<E: Engine> IntoEngine for Arc<E> {
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> {
        (self as Arc<dyn Engine>).into_engine()
    }
}

impl IntoEngine for Arc<dyn Engine> {
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> {
        Box::pin(std::future::ready(Ok(self)))
    }
}
