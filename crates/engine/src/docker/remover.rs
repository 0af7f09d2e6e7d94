//! Removes containers in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bollard::query_parameters::{RemoveContainerOptionsBuilder, RemoveVolumeOptions};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::daemon::Daemon;
use super::error::is_missing;

/// How many times a daemon that is busy or restarting is asked.
const ATTEMPTS: u32 = 6;

/// A container that is dropped is handed over to this. If this program ends first, the container
/// ends with its connection.
#[derive(Clone)]
pub(super) struct Remover {
    daemon: Daemon,
    handle: Handle,
    under_way: Arc<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    count: AtomicUsize,
    done: Notify,
}

impl Remover {
    pub(super) fn new(daemon: Daemon) -> Self {
        Self { daemon, handle: Handle::current(), under_way: Arc::default() }
    }

    /// Where the daemon is spoken to.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Kills and removes a container.
    pub(super) fn remove(&self, container: String) {
        self.remove_all(Some(container), None);
    }

    /// Removes a container, if there is one, and then a volume that the container may have held.
    pub(super) fn remove_all(&self, container: Option<String>, volume: Option<String>) {
        self.under_way.count.fetch_add(1, Ordering::SeqCst);
        let me = self.clone();
        self.handle.spawn(async move {
            if let Some(container) = container {
                me.remove_now(&container).await;
            }
            if let Some(volume) = volume {
                me.remove_volume(&volume).await;
            }
            me.under_way.count.fetch_sub(1, Ordering::SeqCst);
            me.under_way.done.notify_waiters();
        });
    }

    async fn remove_volume(&self, volume: &str) {
        // The containers that use it may still be going away.
        for attempt in 0..ATTEMPTS + 2 {
            match self.daemon.api.remove_volume(volume, None::<RemoveVolumeOptions>).await {
                Ok(()) => return,
                Err(error) if is_missing(&error) => return,
                Err(_) => tokio::time::sleep(Duration::from_millis(50 << attempt)).await,
            }
        }
        tracing::warn!(volume, "a volume could not be removed; `belljar docker prune` will");
    }

    async fn remove_now(&self, container: &str) {
        for attempt in 0..ATTEMPTS {
            let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
            match self.daemon.api.remove_container(container, Some(options)).await {
                Ok(()) => return,
                Err(error) if is_missing(&error) => return,
                // It already removes itself because its connection has ended. The daemon says so
                // when asked again.
                Err(error) if error.to_string().contains("already in progress") => {
                    self.wait_until_gone(container).await;
                    return;
                }
                Err(error) => {
                    tracing::debug!(container, %error, "a container could not be removed yet");
                    tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
                }
            }
        }
        tracing::warn!(container, "a container could not be removed; `belljar docker prune` will");
    }

    async fn wait_until_gone(&self, container: &str) {
        for attempt in 0..ATTEMPTS + 4 {
            match self.daemon.api.inspect_container(container, None).await {
                Err(error) if is_missing(&error) => return,
                _ => tokio::time::sleep(Duration::from_millis(10 << attempt)).await,
            }
        }
    }

    /// Kills a container, which then removes itself.
    pub(super) fn kill(&self, container: String) {
        let api = self.daemon.api.clone();
        self.handle.spawn(async move {
            if let Err(error) = api.kill_container(&container, None).await
                && !is_missing(&error)
            {
                tracing::debug!(container, %error, "a container could not be killed");
            }
        });
    }

    /// Waits until everything handed over is gone.
    pub(super) async fn settle(&self) {
        loop {
            let done = self.under_way.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if self.under_way.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            done.await;
        }
    }
}
