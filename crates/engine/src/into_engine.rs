//! How an engine is handed to a runtime.

use std::sync::Arc;

use crate::engine::{BoxFuture, Engine};
use crate::error::EngineError;

/// Anything that gives an engine: an engine, or settings that have not looked at the machine yet.
///
/// `belljar-engine`'s own settings (`Native`, `Docker`, `Local`) are opened by
/// [`Self::into_engine`]. An engine, owned or shared, is passed on as it is. Code outside this
/// crate does not need to implement this trait: implement [`Engine`].
pub trait IntoEngine: Send + Sync + 'static {
    /// The engine, ready to prepare templates.
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
