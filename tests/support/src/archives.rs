//! Archives as `ar` makes them.

/// The header of a member. `name` is as the file has it, with the slash that ends it.
pub fn member_header(name: &str, size: usize) -> Vec<u8> {
    format!("{name:<16.16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
}

/// An archive of members with short names.
pub fn archive<D: AsRef<[u8]>>(members: &[(&str, D)]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let data = data.as_ref();
        bytes.extend(member_header(&format!("{name}/"), data.len()));
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// An archive whose members are other files.
pub fn thin_archive(paths: &[&str]) -> Vec<u8> {
    let (mut names, mut members) = (Vec::new(), Vec::new());
    for path in paths {
        members.extend(member_header(&format!("/{}", names.len()), 1000));
        names.extend(format!("{path}/\n").into_bytes());
    }
    names.resize(names.len().next_multiple_of(2), b'\n');
    [b"!<thin>\n".to_vec(), member_header("//", names.len()), names, members].concat()
}
