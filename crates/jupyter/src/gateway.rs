//! A gateway, and what can be asked of it.

use std::collections::BTreeMap;
use std::time::Duration;

use belljar_core::Secret;
use http::{HeaderValue, Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use crate::driver::Driver;
use crate::{JupyterError, Kernel, Transport};

/// For what is done at once.
const SOON: Duration = Duration::from_secs(30);
/// For what waits for a kernel: a gateway itself waits for a minute.
const LONG: Duration = Duration::from_secs(90);

/// A gateway that is reachable and takes our token. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Gateway {
    transport: Transport,
    token: Secret,
}

/// A kind of kernel that a gateway can start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelSpec {
    /// Its name, such as `python3`.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// The language it runs, such as `python`.
    pub language: String,
    /// Whether the gateway starts it if no name is given.
    pub is_default: bool,
}

#[derive(Deserialize)]
struct Specs {
    #[serde(default)]
    default: String,
    kernelspecs: BTreeMap<String, Spec>,
}

#[derive(Deserialize)]
struct Spec {
    spec: SpecFile,
}

#[derive(Deserialize)]
struct SpecFile {
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    language: String,
}

/// A kernel as the gateway describes it.
#[derive(Deserialize)]
struct Model {
    id: String,
    #[serde(default)]
    execution_state: String,
}

impl Gateway {
    /// Makes sure that a gateway answers there, and takes the token.
    pub async fn connect(transport: Transport, token: impl Into<String>) -> Result<Self, JupyterError> {
        let gateway = Self { transport, token: Secret::new(token) };
        gateway.ask(Method::GET, "/api", None, SOON).await?.done()?;
        Ok(gateway)
    }

    /// The kinds of kernels it can start, in the order of their names.
    pub async fn kernel_specs(&self) -> Result<Vec<KernelSpec>, JupyterError> {
        let specs: Specs = self.ask(Method::GET, "/api/kernelspecs", None, SOON).await?.read()?;
        let described = specs.kernelspecs.into_iter().map(|(name, Spec { spec })| KernelSpec {
            is_default: name == specs.default,
            name,
            display_name: spec.display_name,
            language: spec.language,
        });
        Ok(described.collect())
    }

    /// Starts a kernel, and waits until it answers.
    pub async fn start_kernel(&self, name: &str) -> Result<Kernel, JupyterError> {
        let known = self.kernel_specs().await?;
        if !known.iter().any(|spec| spec.name == name) {
            let known = known.into_iter().map(|spec| spec.name).collect();
            return Err(JupyterError::NoSuchKernel { name: name.to_owned(), known });
        }
        Driver::start(self.clone(), name.to_owned()).await
    }

    /// Starts the process of a kernel. Its id.
    pub(crate) async fn create(&self, name: &str) -> Result<String, JupyterError> {
        // Without a path it would work where the gateway does.
        let body = json!({"name": name, "path": ""});
        let model: Model = self.ask(Method::POST, "/api/kernels", Some(&body), LONG).await?.read()?;
        is_id(&model.id).then_some(model.id).ok_or_else(|| JupyterError::Answer {
            what: "POST /api/kernels".into(),
            reason: "the id of the new kernel is not one".into(),
        })
    }

    /// Whether the gateway has this kernel, and will restart it if need be.
    pub(crate) async fn has(&self, id: &str) -> Result<bool, JupyterError> {
        let answer = self.ask(Method::GET, &format!("/api/kernels/{id}"), None, SOON).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        Ok(answer.read::<Model>()?.execution_state != "dead")
    }

    pub(crate) async fn interrupt(&self, id: &str) -> Result<(), JupyterError> {
        self.ask(Method::POST, &format!("/api/kernels/{id}/interrupt"), None, SOON).await?.done()
    }

    pub(crate) async fn restart(&self, id: &str) -> Result<(), JupyterError> {
        self.ask(Method::POST, &format!("/api/kernels/{id}/restart"), None, LONG).await?.done()
    }

    /// Ends a kernel. One that is gone already has ended.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), JupyterError> {
        let answer = self.ask(Method::DELETE, &format!("/api/kernels/{id}"), None, SOON).await?;
        if answer.status == StatusCode::NOT_FOUND { Ok(()) } else { answer.done() }
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The header that has the token. A token that cannot be in one is nobody's.
    pub(crate) fn authorization(&self) -> HeaderValue {
        let text = format!("token {}", self.token.expose());
        let mut value = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("token"));
        value.set_sensitive(true);
        value
    }
}

/// An id goes into paths, so it must not be one.
fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
