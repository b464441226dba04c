//! The files of the page.

use serde_json::json;

use super::client::TestServer;

/// Starts a server with a page of a few files; returns the folder around the page, too.
async fn serve_page() -> (TestServer, tempfile::TempDir) {
    let around = tempfile::tempdir().expect("a folder");
    let page = around.path().join("page");
    std::fs::create_dir_all(page.join("replays/.hidden")).expect("folders");
    for (file, text) in [
        ("secret.txt", "secret"),
        ("page/index.html", "<p>the page</p>"),
        ("page/app.js", "1"),
        ("page/replays/manifest.json", "[]"),
        ("page/.env", "secret"),
        ("page/replays/.hidden/file.txt", "secret"),
    ] {
        std::fs::write(around.path().join(file), text).expect("a file");
    }
    let server = TestServer::with(move |options, _| options.page = Some(page), None).await;
    (server, around)
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

#[tokio::test]
async fn page_is_served_beside_the_api() {
    let (server, _around) = serve_page().await;
    let page = server.raw(&get("/")).await;
    assert_eq!((page.status, page.body.as_str()), (200, "<p>the page</p>"));
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let script = server.raw(&get("/app.js")).await;
    assert_eq!(
        script.header("content-type"),
        Some("text/javascript; charset=utf-8")
    );
    let (status, list) = server.request("GET", "/replays/manifest.json", None).await;
    assert_eq!((status, list), (200, json!([])));
    assert_eq!(server.request("GET", "/health", None).await.0, 200);
    let own = format!(
        "GET / HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\n\r\n",
        server.address
    );
    assert_eq!(server.raw(&own).await.status, 200);
    let missing = server.raw(&get("/nowhere.html")).await;
    assert_eq!(
        (missing.status, missing.detail().as_str()),
        (404, "Not Found")
    );
}

#[tokio::test]
async fn files_outside_the_page_and_dot_files_are_not_served() {
    let (server, around) = serve_page().await;
    #[cfg(unix)]
    {
        let link = |target: &str, name: &str| {
            let name = around.path().join("page").join(name);
            std::os::unix::fs::symlink(target, name).expect("a link");
        };
        link("../secret.txt", "link.txt");
        link("..", "out");
        link(".env", "env.txt");
        link("app.js", "inside.js");
        std::fs::create_dir(around.path().join("page/linked")).expect("a folder");
        link("../../secret.txt", "linked/index.html");
        let inside = server.raw(&get("/inside.js")).await;
        assert_eq!((inside.status, inside.body.as_str()), (200, "1"));
    }
    for path in [
        "/link.txt",
        "/out/secret.txt",
        "/env.txt",
        "/linked/",
        "/linked",
        "/.env",
        "/%2eenv",
        "/%2Eenv",
        "/replays/.hidden/file.txt",
        "/replays/%2ehidden/file.txt",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/replays/../../secret.txt",
        "//secret.txt",
        "/replays",
    ] {
        let answer = server.raw(&get(path)).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        assert!(answer.detail().starts_with("Not Found"), "{path}");
    }
}
