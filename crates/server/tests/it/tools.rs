//! What a model should know of a sandbox.

use belljar::ToolRegistry;
use serde_json::json;

use crate::world::{World, told};

#[tokio::test]
async fn the_tools_of_a_sandbox_are_described_in_the_form_that_is_asked_for() {
    let files = tempfile::tempdir().unwrap();
    let source = "def search(query: str, limit: int = 3) -> list:\n    \"\"\"Search the catalogue.\"\"\"\n    return []\n";
    std::fs::write(files.path().join("catalogue.py"), source).unwrap();
    let equipped = World::with(|options| {
        let tools = ToolRegistry::new().guest(files.path().join("catalogue.py")).unwrap();
        let config = belljar_testing::config();
        options.sandboxes.insert("shop".to_owned(), tools.for_config(config));
    });
    let Some(world) = equipped.await else { return };
    for _ in 0..2 {
        let (status, told) = told(world.get("/v1/tools?sandbox=shop")).await;
        assert_eq!(status, 200, "{told}");
        assert_eq!((&told["tools"][0]["name"], &told["form"]), (&json!("search"), &json!("mcp")));
        assert!(told["tools"][0]["inputSchema"]["properties"]["limit"].is_object(), "{told}");
        assert!(told["prompt"].as_str().unwrap().contains("Search the catalogue."), "{told}");
        assert!(!told["prompt"].as_str().unwrap().contains("return []"), "its source is not told");
    }
    let (_, openai) = told(world.get("/v1/tools?sandbox=shop&form=openai")).await;
    assert_eq!(openai["tools"][0]["function"]["name"], "search", "{openai}");
    let (_, anthropic) = told(world.get("/v1/tools?sandbox=shop&form=anthropic")).await;
    assert!(anthropic["tools"][0]["input_schema"].is_object(), "{anthropic}");
    let (status, none) = told(world.get("/v1/tools")).await;
    assert_eq!((status, &none["tools"]), (200, &json!([])));
    for (query, field) in [("sandbox=nowhere", "sandbox"), ("form=x", "form")] {
        let (status, problem) = told(world.get(&format!("/v1/tools?{query}"))).await;
        assert_eq!((status, &problem["field"]), (400, &json!(field)));
    }
    world.stop().await;
}
