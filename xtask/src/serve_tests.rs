//! Tests of the static server, over real connections.

use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;

fn request(server: &Server, line: &str) -> String {
    let mut stream = TcpStream::connect(server.address).expect("the server listens");
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let site = folder.path().join("site");
    std::fs::create_dir_all(site.join("replays")).expect("a folder");
    std::fs::write(folder.path().join("secret.txt"), "secret").expect("a file");
    std::fs::write(site.join("index.html"), "home").expect("a file");
    std::fs::write(site.join("a b.wasm"), "code").expect("a file");
    std::fs::write(site.join("replays/x.jsonl"), "{}").expect("a file");
    folder
}

#[test]
fn server_serves_only_files_under_prefix() {
    let folder = site();
    let server = serve(&folder.path().join("site"), "some/sub/path", 0).expect("a free port");
    assert!(
        server.url().ends_with("/some/sub/path/"),
        "{}",
        server.url()
    );
    let home = request(&server, "GET /some/sub/path/?task=1");
    assert!(home.starts_with("HTTP/1.1 200") && home.ends_with("home"));
    let wasm = request(&server, "GET /some/sub/path/a%20b.wasm");
    assert!(wasm.contains("Content-Type: application/wasm"), "{wasm}");
    for outside in [
        "GET /index.html",
        "GET /some/sub/path/../../../secret.txt",
        "GET /some/sub/path/%2e%2e/secret.txt",
        "GET /some/sub/path//etc/passwd",
        "GET /some/sub/path/%zz",
        "GET /some/sub/path/replays/",
        "GET /some/sub/path/replays",
    ] {
        let answer = request(&server, outside);
        assert!(answer.starts_with("HTTP/1.1 404"), "{outside}: {answer}");
    }
    let posted = request(&server, "POST /some/sub/path/");
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
    let head = request(&server, "HEAD /some/sub/path/");
    assert!(head.starts_with("HTTP/1.1 200") && !head.ends_with("home"));
}

#[test]
fn port_in_use_returns_addr_in_use() {
    let folder = site();
    let first = serve(folder.path(), "/", 0).expect("a free port");
    let error = serve(folder.path(), "/", first.address.port()).expect_err("it is taken");
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
}

#[test]
fn resolve_refuses_paths_outside_folder() {
    assert_eq!(resolve("/", "/"), Some("index.html".into()));
    assert_eq!(resolve("/a/b.js?v=1#x", "/"), Some("a/b.js".into()));
    assert_eq!(resolve("/a/", "/"), Some("a/index.html".into()));
    for bad in [
        "/../a",
        "/a/../../b",
        "//a",
        "/%2e%2e/a",
        "/a%00",
        "/a%5cb",
        "/%",
        "/%4",
        "/%ff",
    ] {
        assert_eq!(resolve(bad, "/"), None, "{bad}");
    }
}

#[test]
fn mime_type_follows_file_extension() {
    assert_eq!(mime(Path::new("x_bg.wasm")), "application/wasm");
    assert_eq!(mime(Path::new("a/x.JS")), "text/javascript; charset=utf-8");
    assert_eq!(mime(Path::new("x.css")), "text/css; charset=utf-8");
    assert_eq!(mime(Path::new("x.jsonl")), "application/x-ndjson");
    assert_eq!(mime(Path::new("LICENSE")), "application/octet-stream");
}

#[test]
fn compressed_file_is_sent_to_browsers_that_read_it() {
    let folder = site();
    std::fs::write(folder.path().join("site/index.html.br"), "small").expect("a file");
    let server = serve(&folder.path().join("site"), "/", 0).expect("a free port");
    let plain = request(&server, "GET /");
    assert!(plain.ends_with("home") && !plain.contains("Content-Encoding"));
    let mut stream = TcpStream::connect(server.address).expect("the server listens");
    let lines =
        "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n\r\n";
    stream.write_all(lines.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("Content-Encoding: br") && answer.ends_with("small"));
    assert!(answer.contains("text/html"), "{answer}");
}
