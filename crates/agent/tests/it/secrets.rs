//! Values of secrets reach no model.

use std::sync::Arc;

use belljar_agent::{AgentMode, ToolOrchestrator};
use belljar_core::Secret;
use belljar_runtime::{Runtime, Secrets};
use belljar_testing::{build, config, in_time};

use super::{run, scripted};

const VALUE: &str = "hunter2-and-more";

#[tokio::test]
async fn what_a_script_says_of_a_secret_is_hidden_from_the_model() {
    let secrets: Secrets = std::collections::BTreeMap::from([("KEY".to_owned(), Secret::new(VALUE))]).into();
    let Some(runtime) = build(Runtime::builder().secrets(secrets)) else { return };
    let mut config = config();
    config.secrets = vec!["KEY".into()];
    let sandbox = in_time(runtime.sandbox(config)).await.unwrap();
    for mode in [AgentMode::Plan, AgentMode::Interactive] {
        let model = scripted(&[
            "import os\nkey = os.environ['KEY']\nprint(key, list(key))\nraise ValueError(f'bad {key!r}')",
            "import os\nemit_intermediate(os.environ['KEY'], os.environ['KEY'])\nassert False, os.environ['KEY'][:9] + os.environ['KEY'][9:]",
            "import os\nemit_result(os.environ['KEY'])",
        ]);
        let orchestrator =
            ToolOrchestrator::new(sandbox.clone(), Arc::clone(&model)).mode(mode).vetting(None);
        let record = run(&orchestrator, "t").await;
        assert_eq!(record.steps.len(), 3, "{record:#?}");
        let asked = format!("{:?}", model.asked());
        assert!(!asked.contains(VALUE), "{asked}");
        assert!(asked.contains("bad '***'"), "{asked}");
        assert!(!serde_json::to_string(&record).unwrap().contains(VALUE));
    }
}
