//! Which package a script lacks, from the words of its error.

use std::path::{Path, PathBuf};

use belljar::SandboxConfig;

/// Modules whose package has another name.
const PACKAGES: [(&str, &str); 42] = [
    ("Bio", "biopython"),
    ("Crypto", "pycryptodome"),
    ("Levenshtein", "levenshtein"),
    ("MySQLdb", "mysqlclient"),
    ("OpenSSL", "pyopenssl"),
    ("PIL", "pillow"),
    ("PyPDF2", "pypdf2"),
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    ("charset_normalizer", "charset-normalizer"),
    ("cv2", "opencv-python-headless"),
    ("dash_bootstrap_components", "dash-bootstrap-components"),
    ("dateutil", "python-dateutil"),
    ("discord", "discord.py"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("faiss", "faiss-cpu"),
    ("fitz", "pymupdf"),
    ("git", "gitpython"),
    ("github", "pygithub"),
    ("jose", "python-jose"),
    ("jwt", "pyjwt"),
    ("magic", "python-magic"),
    ("markdown", "markdown"),
    ("mpl_toolkits", "matplotlib"),
    ("multipart", "python-multipart"),
    ("mysql", "mysql-connector-python"),
    ("nacl", "pynacl"),
    ("osgeo", "gdal"),
    ("pkg_resources", "setuptools"),
    ("pptx", "python-pptx"),
    ("psycopg2", "psycopg2-binary"),
    ("pylab", "matplotlib"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("socks", "pysocks"),
    ("telegram", "python-telegram-bot"),
    ("usb", "pyusb"),
    ("yaml", "pyyaml"),
    ("zmq", "pyzmq"),
];

/// Packages that models reach for, by the name of their module. Whoever lacks one of these needs
/// the package, and not a file of the same name.
const WELL_KNOWN: &str = "aiohttp altair anthropic arrow bokeh boto3 click cryptography dask django duckdb \
    fastapi feedparser flask geopandas httpx jinja2 joblib keras langchain lxml matplotlib networkx nltk numpy \
    openai openpyxl pandas playwright plotly polars psutil pyarrow pydantic pytest redis reportlab requests rich \
    scipy seaborn selenium spacy sqlalchemy statsmodels sympy tabulate tensorflow tiktoken tokenizers torch \
    torchvision tqdm transformers typer xgboost xlsxwriter";

/// Modules of Python itself that some Pythons lack, or no longer have. No package brings them.
const OF_PYTHON: &str = "asynchat asyncore bz2 cgi curses dbm distutils ensurepip idlelib imp lzma readline sqlite3 \
    telnetlib tkinter turtle";

/// Names that many packages share. No package has just that name, or a stranger's has.
const SHARED: &str = "azure google opentelemetry zope";

/// What to do about an error, if a package would help, or a file beside the script.
pub(super) fn advice(error: &str, config: &SandboxConfig, near: Option<&Path>) -> Option<String> {
    let whole = missing(error)?;
    let module = whole.split('.').next().unwrap_or(whole);
    let is_in = |names: &str| names.split_whitespace().any(|name| name == module);
    if is_in(OF_PYTHON) {
        return None;
    }
    if let Some(file) = near.and_then(|near| beside(near, module)) {
        return Some(format!(
            "it is beside the script: give it to the script with --file {}",
            file.display()
        ));
    }
    if is_in(SHARED) {
        return Some(format!(
            "{module} is a part of many packages' names: install the one that is meant with --dep, such as {module}-…"
        ));
    }
    if whole != module {
        // What it should be in is there.
        return None;
    }
    let known = PACKAGES.iter().find(|(name, _)| *name == module).map(|(_, package)| *package);
    let package = known.unwrap_or(module);
    let is_there = |dependency: &String| {
        let end = dependency.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
        plain(&dependency[..end.unwrap_or(dependency.len())]) == plain(package)
    };
    if config.dependencies.iter().any(is_there) {
        return None;
    }
    Some(match known.is_some() || is_in(WELL_KNOWN) {
        true => format!("install it with --dep {package}"),
        // A model may make a name up, and somebody may have published it since.
        false => format!("if {module} is a package that you trust, install it with --dep {package}"),
    })
}

/// The module that is missing: of Python's own words, or of a package's that works better with it.
fn missing(error: &str) -> Option<&str> {
    let named = |before: &str| error.split_once(before)?.1.split_once('\'').map(|(name, _)| name);
    let whole = match error.starts_with("ModuleNotFoundError: ") {
        true => named("No module named '")?,
        false => named("Missing optional dependency '")?,
    };
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    whole.split('.').next().is_some_and(is_name).then_some(whole)
}

/// The file or directory of a module that is beside the script.
fn beside(near: &Path, module: &str) -> Option<PathBuf> {
    let file = near.join(format!("{module}.py"));
    let directory = near.join(module);
    match (file.is_file(), directory.is_dir()) {
        (true, _) => Some(file),
        (_, true) => Some(directory),
        _ => None,
    }
}

/// A package's name in one spelling.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(error: &str, dependencies: &[&str]) -> Option<String> {
        let dependencies = dependencies.iter().map(|&each| each.into()).collect();
        advice(error, &SandboxConfig { dependencies, ..SandboxConfig::default() }, None)
    }

    #[test]
    fn a_missing_module_names_its_package() {
        for (error, expected) in [
            ("ModuleNotFoundError: No module named 'pandas'", "install it with --dep pandas"),
            ("ModuleNotFoundError: No module named 'cv2'", "install it with --dep opencv-python-headless"),
            ("ModuleNotFoundError: No module named 'sklearn'", "install it with --dep scikit-learn"),
            (
                "ModuleNotFoundError: No module named 'google'",
                "google is a part of many packages' names: install the one that is meant with --dep, such as google-…",
            ),
            (
                "ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda to install openpyxl.",
                "install it with --dep openpyxl",
            ),
            (
                "ModuleNotFoundError: No module named 'helper'",
                "if helper is a package that you trust, install it with --dep helper",
            ),
        ] {
            assert_eq!(told(error, &[]).as_deref(), Some(expected), "{error}");
        }
    }

    #[test]
    fn nothing_is_said_where_no_package_would_help() {
        for error in [
            "ValueError: No module named 'pandas'",
            "ModuleNotFoundError: No module named ''",
            "ModuleNotFoundError: No module named '--pre x'",
            "ModuleNotFoundError: No module named '__main__.x'",
            "ModuleNotFoundError: No module named 'tkinter'",
            "ModuleNotFoundError: no words that Python would use",
            "ModuleNotFoundError: No module named 'os.nosuch'; 'os' is not a package",
            "ModuleNotFoundError: No module named 'json.nosuch'",
        ] {
            assert_eq!(told(error, &[]), None, "{error}");
        }
        // It is installed, and lacks this module.
        assert_eq!(told("ModuleNotFoundError: No module named 'pandas.nonsense'", &["Pandas>=2"]), None);
        assert_eq!(told("ModuleNotFoundError: No module named 'skimage.x'", &["scikit_image[data]"]), None);
    }

    #[test]
    fn a_module_beside_the_script_is_given_as_a_file() {
        let near = tempfile::tempdir().unwrap();
        std::fs::write(near.path().join("helper.py"), "").unwrap();
        std::fs::create_dir(near.path().join("tools")).unwrap();
        for (module, file) in [("helper", "helper.py"), ("tools", "tools"), ("tools.x", "tools")] {
            let error = format!("ModuleNotFoundError: No module named '{module}'");
            let told = advice(&error, &SandboxConfig::default(), Some(near.path())).unwrap();
            assert!(told.ends_with(&format!("--file {}", near.path().join(file).display())), "{told}");
        }
    }

    #[test]
    fn the_tables_are_in_order_and_each_name_is_there_once() {
        assert!(PACKAGES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for names in [WELL_KNOWN, OF_PYTHON, SHARED] {
            let names: Vec<_> = names.split_whitespace().collect();
            assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
        }
    }
}
