//! Layers that somebody else could have changed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use super::tests::{Bench, quiet};
use super::*;

const STRANGER: u32 = 54_321;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn refusal(bench: &Bench) -> String {
    let never = &mut |step| panic!("something was installed: {step:?}");
    let error = bench.store().ensure(&bench.spec(&["parcel"]), never).unwrap_err();
    assert!(matches!(error, LayerError::Untrusted { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_layer_that_others_can_change_is_not_used() {
    let Some(bench) = Bench::new() else { return };
    let layer = bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
    let module = layer.path.join("parcel/__init__.py");
    for (path, open) in [(&module, 0o646), (&layer.path, 0o777)] {
        let before = fs::metadata(path).unwrap().permissions();
        mode(path, open);
        let told = refusal(&bench);
        assert!(told.contains(&path.display().to_string()) && told.contains("chmod go-w"), "{told}");
        fs::set_permissions(path, before).unwrap();
    }
    assert!(bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap().cached);
}

#[test]
fn a_layer_of_somebody_elses_is_not_used() {
    let Some(bench) = Bench::new() else { return };
    let layer = bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
    for path in [bench.root(), layer.path.clone(), layer.path.join("parcel/__init__.py")] {
        if chown(&path, Some(STRANGER), None).is_err() {
            println!("root: skipped (only root can give files away)");
            return;
        }
        let told = refusal(&bench);
        assert!(told.contains(&format!("{} belongs to user {STRANGER}", path.display())), "{told}");
        chown(&path, Some(0), None).unwrap();
    }
    assert!(bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap().cached);
}

#[test]
fn a_link_in_a_layers_place_is_replaced_and_not_followed() {
    let Some(bench) = Bench::new() else { return };
    let layer = bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
    // A copy that looks right in every way, except for its contents.
    let evil = bench.dir.path().join("evil");
    fs::rename(&layer.path, &evil).unwrap();
    fs::write(evil.join("parcel/__init__.py"), "VERSION = 'evil'\n").unwrap();
    symlink(&evil, &layer.path).unwrap();
    let again = bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
    assert!(!again.cached && fs::symlink_metadata(&again.path).unwrap().is_dir());
    assert_eq!(bench.import(&again, "parcel.VERSION"), "1.1");
    assert!(evil.join("parcel").exists(), "what the link led to is not ours to remove");
}

#[test]
fn half_a_layer_is_none_wherever_it_was_cut() {
    let Some(bench) = Bench::new() else { return };
    let layer = bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
    let manifest = layer.path.join(MANIFEST);
    let whole = fs::read_to_string(&manifest).unwrap();
    let others = whole.replace("\"parcel\"\n", "\"cordage\"\n");
    assert_ne!(others, whole);
    for text in ["", &whole[..whole.len() / 2], "null", &others] {
        fs::write(&manifest, text).unwrap();
        let again = bench.store().ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
        assert!(!again.cached, "a manifest of {text:?} was believed");
        assert_eq!(fs::read_to_string(&manifest).unwrap(), whole);
    }
    assert_eq!(bench.contents(), [layer.key]);
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let Some(bench) = Bench::new() else { return };
    let spec = bench.spec(&["parcel"]);
    fs::create_dir(bench.root()).unwrap();
    let target = bench.dir.path().join("made-through-a-link");
    symlink(&target, bench.root().join(format!("{}.lock", spec.key()))).unwrap();
    assert!(matches!(bench.store().ensure(&spec, &mut quiet()), Err(LayerError::Store { .. })));
    assert!(!target.exists());
}

#[test]
fn a_store_behind_a_link_of_ours_is_used_where_it_really_is() {
    let Some(bench) = Bench::new() else { return };
    fs::create_dir(bench.root()).unwrap();
    let link = bench.dir.path().join("link");
    symlink(bench.root(), &link).unwrap();
    let layer = bench.store_in(link).ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
    assert_eq!(layer.path, bench.root().canonicalize().unwrap().join(&layer.key));
}
