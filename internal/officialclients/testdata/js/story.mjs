// What a program does with the official OpenSandbox client for JavaScript, from create to kill. Each
// step is a line of JSON on stdout: its name, its error when it has one, and why it was left out.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import { ConnectionConfig, Sandbox, SandboxManager } from "@alibaba-group/opensandbox";

const { domain, apiKey, hostPath } = JSON.parse(readFileSync(0, "utf8"));
const connectionConfig = new ConnectionConfig({ domain, apiKey, requestTimeoutSeconds: 120 }); // a busy machine is slow
const manager = SandboxManager.create({ connectionConfig });

async function step(name, f, leftOut) {
  let error;
  try {
    if (!leftOut) await f();
  } catch (e) {
    error = `${e?.stack ?? e}${e?.rawBody ? `\n${JSON.stringify(e.rawBody)}` : ""}`;
  }
  process.stdout.write(JSON.stringify({ step: name, error, leftOut: leftOut || undefined }) + "\n");
}

// refused wants f to fail with a status (and a code).
async function refused(f, statusCode, code) {
  try {
    await f();
  } catch (e) {
    assert.equal(e.name, "SandboxApiException", String(e.stack));
    assert.equal(e.statusCode, statusCode, JSON.stringify(e.rawBody ?? e.message));
    if (code) assert.equal(e.error.code, code);
    return e;
  }
  assert.fail(`nothing was refused, and ${statusCode} was expected`);
}

async function until(what, f) {
  for (const end = Date.now() + 120_000; Date.now() < end; ) {
    const v = await f();
    if (v) return v;
    await new Promise((r) => setTimeout(r, 20));
  }
  assert.fail(`waited in vain for ${what}`);
}

const texts = (messages) => messages.map((m) => m.text);

let box;
await step("create", async () => {
  box = await Sandbox.create({
    connectionConfig,
    image: "host",
    env: { GREETING: "hello" },
    metadata: { project: "Apollo", owner: "js" },
    resource: { cpu: "1", memory: "512Mi" },
    timeoutSeconds: 600,
    volumes: [{ name: "data", host: { path: hostPath }, mountPath: "/mnt/data", readOnly: true }],
  });
  assert.match(box.id, /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  assert.equal(await box.isHealthy(), true);
});
if (!box) process.exit(1);

await step("info", async () => {
  const info = await box.getInfo();
  assert.equal(info.id, box.id);
  assert.equal(info.status.state, "Running");
  assert.equal(info.image.uri, "host");
  assert.deepEqual(info.entrypoint, ["tail", "-f", "/dev/null"]);
  assert.deepEqual(info.metadata, { project: "Apollo", owner: "js" });
  const left = info.expiresAt - Date.now();
  assert.ok(info.createdAt instanceof Date && left > 300_000 && left <= 600_000, `expires in ${left} ms`);
});

await step("exec", async () => {
  const r = await box.commands.run("echo $GREETING; echo oops >&2; cat /mnt/data/note; echo 'ünï 🎉'");
  assert.deepEqual(texts(r.logs.stdout), ["hello", "from the host", "ünï 🎉"]);
  assert.deepEqual(texts(r.logs.stderr), ["oops"]);
  assert.equal(r.exitCode, 0);
  assert.ok(r.id && r.complete && !r.error);
});

await step("exec options", async () => {
  const r = await box.commands.run('pwd; id -u; id -g; echo "$A $B"', {
    workingDirectory: "/tmp", uid: 1000, gid: 1000, envs: { A: "1", B: "two words" },
  });
  assert.deepEqual(texts(r.logs.stdout), ["/tmp", "1000", "1000", "1 two words"]);
});

await step("exec that fails", async () => {
  const r = await box.commands.run("echo before; exit 7");
  assert.equal(r.exitCode, 7);
  assert.equal(r.error.name, "CommandExecError");
  assert.deepEqual(r.error.traceback, ["exit status 7"]);
  assert.deepEqual(texts(r.logs.stdout), ["before"]);
  await refused(() => box.commands.run("true", { workingDirectory: "/nowhere" }), 400, "INVALID_REQUEST_BODY");
});

await step("exec that takes too long", async () => {
  const r = await box.commands.run("echo start; sleep 600", { timeoutSeconds: 0.5 });
  assert.equal(r.exitCode, -1);
  assert.deepEqual(r.error.traceback, ["signal: killed"]);
});

await step("streams", async () => {
  const types = [];
  let acknowledged = false;
  // Each line must be here before the next is written.
  for await (const ev of box.commands.runStream(
    "for i in 1 2 3; do echo line $i; while ! [ -e /tmp/ack$i ]; do sleep 0.01; done; done")) {
    if (ev.type === "ping") continue;
    types.push(ev.type === "stdout" ? ev.text : ev.type);
    if (ev.type === "stdout") {
      await box.files.writeFiles([{ path: `/tmp/ack${ev.text.slice(-1)}`, data: "" }]);
      acknowledged = true;
    }
  }
  assert.ok(acknowledged);
  assert.deepEqual(types, ["init", "line 1", "line 2", "line 3", "execution_complete"]);
});

await step("handlers", async () => {
  const seen = [];
  const r = await box.commands.run("echo out; exit 3", undefined, {
    onInit: (i) => seen.push(`init ${i.id !== ""}`),
    onStdout: (m) => seen.push(m.text),
    onError: (e) => seen.push(e.value),
    onExecutionComplete: () => seen.push("complete"),
    skipAccumulation: true,
  });
  assert.deepEqual(seen, ["init true", "out", "3"]);
  assert.deepEqual(r.logs.stdout, []);
});

await step("much output", async () => {
  let n = 0, bytes = 0;
  const r = await box.commands.run("seq 1 200000; head -c 6000000 /dev/zero | tr '\\0' x", undefined,
    { onStdout: (m) => { n++; bytes += m.text.length; }, skipAccumulation: true });
  assert.equal(n, 200001);
  assert.equal(bytes, 1088895 + 6000000);
  assert.equal(r.exitCode, 0);
});

await step("interrupt", async () => {
  let id;
  const r = await box.commands.run("sleep 600", undefined, {
    onInit: async (i) => { id = i.id; setTimeout(() => box.commands.interrupt(id), 50); },
  });
  assert.equal(r.exitCode, -1);
  assert.deepEqual(r.error.traceback, ["signal: terminated"]);
  await refused(() => box.commands.interrupt("nosuch"), 500);
});

await step("background", async () => {
  const r = await box.commands.run("echo one; while ! [ -e /tmp/go ]; do sleep 0.01; done; echo two; exit 4",
    { background: true });
  assert.ok(r.id);
  assert.equal(r.exitCode, undefined);
  let logs = await until("the first line", async () => {
    const l = await box.commands.getBackgroundCommandLogs(r.id);
    return l.content.includes("one") && l;
  });
  assert.equal((await box.commands.getCommandStatus(r.id)).running, true);
  await box.files.writeFiles([{ path: "/tmp/go", data: "" }]);
  const status = await until("its end", async () => {
    const s = await box.commands.getCommandStatus(r.id);
    return !s.running && s;
  });
  assert.equal(status.exitCode, 4);
  assert.ok(status.startedAt instanceof Date && status.finishedAt >= status.startedAt);
  logs = await box.commands.getBackgroundCommandLogs(r.id, logs.cursor);
  assert.equal(logs.content.trim(), "two");
  await refused(() => box.commands.getCommandStatus("nosuch"), 404);
});

await step("sessions", async () => {
  const id = await box.commands.createSession({ workingDirectory: "/tmp" });
  assert.equal((await box.commands.runInSession(id, "export X=kept; mkdir -p in; cd in; f() { echo f:$1; }")).exitCode, 0);
  const r = await box.commands.runInSession(id, "echo $X; pwd; f 1; false");
  assert.deepEqual(texts(r.logs.stdout), ["kept", "/tmp/in", "f:1"]);
  assert.equal(r.exitCode, 1);
  assert.deepEqual(texts((await box.commands.runInSession(id, "pwd", { workingDirectory: "/usr" })).logs.stdout), ["/usr"]);
  const slow = await box.commands.runInSession(id, "sleep 600", { timeoutSeconds: 0.5 });
  assert.equal(slow.exitCode, -1);
  await box.commands.deleteSession(id);
  await refused(() => box.commands.runInSession(id, "true"), 404);
});

await step("files", async () => {
  await box.files.createDirectories([{ path: "/tmp/files/deep", mode: 750 }]);
  async function* chunks() {
    for (let i = 0; i < 64; i++) yield new Uint8Array(65536).fill(i);
  }
  await box.files.writeFiles([
    { path: "/tmp/files/a.txt", data: "line 1\nline 2\nline 3\nline 4\n", mode: 640 },
    { path: "/tmp/files/b.txt", data: new TextEncoder().encode("old old") },
    { path: "/tmp/files/deep/big.bin", data: chunks() },
    { path: "/tmp/files/ünï 1.txt", data: "ü" },
  ]);
  assert.equal(await box.files.readFile("/tmp/files/ünï 1.txt"), "ü");
  assert.equal(await box.files.readFile("/tmp/files/a.txt", { range: "bytes=0-5" }), "line 1");
  assert.equal(await box.files.readFile("/tmp/files/a.txt", { offset: 2, limit: 2 }), "line 2\nline 3");
  let size = 0;
  for await (const c of box.files.readBytesStream("/tmp/files/deep/big.bin")) size += c.length;
  assert.equal(size, 64 * 65536);
  const info = await box.files.getFileInfo(["/tmp/files/a.txt", "/tmp/files/deep"]);
  const a = info["/tmp/files/a.txt"];
  assert.equal(a.size, 28);
  assert.equal(a.mode, 640);
  assert.equal(a.type, "file");
  assert.equal(a.owner, "root");
  assert.ok(a.modifiedAt instanceof Date && a.createdAt instanceof Date);
  assert.equal(info["/tmp/files/deep"].type, "directory");
  assert.equal(info["/tmp/files/deep"].mode, 750);
});

await step("files: search and list", async () => {
  const found = await box.files.search({ path: "/tmp/files", pattern: "*.txt" });
  assert.deepEqual(found.map((f) => f.path).sort(), ["/tmp/files/a.txt", "/tmp/files/b.txt", "/tmp/files/ünï 1.txt"]);
  const listed = await box.files.listDirectory({ path: "/tmp/files", depth: 2 });
  assert.ok(listed.some((f) => f.path === "/tmp/files/deep/big.bin" && f.size === 64 * 65536));
});

await step("files: replace, permissions, move, delete", async () => {
  assert.deepEqual(
    await box.files.replaceContentsDetailed([{ path: "/tmp/files/b.txt", oldContent: "old", newContent: "new" }]),
    [{ path: "/tmp/files/b.txt", replacedCount: 2 }]);
  await box.files.replaceContents([{ path: "/tmp/files/b.txt", oldContent: "new new", newContent: "newer" }]);
  assert.equal(await box.files.readFile("/tmp/files/b.txt"), "newer");
  await box.files.setPermissions([{ path: "/tmp/files/b.txt", mode: 600, owner: "nobody", group: "nogroup" }]);
  assert.deepEqual(texts((await box.commands.run("stat -c '%a %U %G' /tmp/files/b.txt")).logs.stdout), ["600 nobody nogroup"]);
  await box.files.moveFiles([{ src: "/tmp/files/b.txt", dest: "/tmp/files/deep/c.txt" }]);
  await box.files.deleteFiles(["/tmp/files/a.txt"]);
  await refused(() => box.files.readFile("/tmp/files/a.txt"), 404);
  await refused(() => box.files.getFileInfo(["/tmp/files/b.txt"]), 404, "FILE_NOT_FOUND");
  await box.files.deleteDirectories(["/tmp/files"]);
  await refused(() => box.files.listDirectory({ path: "/tmp/files" }), 404);
});

await step("metrics", async () => {
  const m = await box.getMetrics();
  assert.ok(m.cpuCount > 0 && m.cpuCount <= 1, JSON.stringify(m));
  assert.ok(m.memoryTotalMiB > 0 && m.memoryUsedMiB >= 0 && m.cpuUsedPercentage >= 0, JSON.stringify(m));
  assert.ok(Math.abs(m.timestamp - Date.now()) < 60_000, JSON.stringify(m));
});

await step("endpoints and proxy", async () => {
  await box.files.writeFiles([{ path: "/srv/www/index.txt", data: "served" }]);
  await box.commands.run("exec python3 -m http.server --bind 127.0.0.1 --directory /srv/www 8000", { background: true });
  const url = await box.getEndpointUrl(8000);
  const page = await until("the server in the sandbox", async () => {
    const r = await fetch(`${url}/index.txt`);
    return r.ok && r;
  });
  assert.equal(await page.text(), "served");
  const { endpoint } = await box.getEndpoint(8000);
  assert.ok(!endpoint.includes("://"), endpoint);
  await refused(() => box.getSignedEndpoint(8000, Math.floor(Date.now() / 1000) + 60), 400);
});

await step("server proxy", async () => {
  const same = await Sandbox.connect({ connectionConfig: { domain, apiKey, useServerProxy: true }, sandboxId: box.id });
  assert.deepEqual(texts((await same.commands.run("echo through")).logs.stdout), ["through"]);
  assert.equal(await (await fetch(`${await same.getEndpointUrl(8000)}/index.txt`)).text(), "served");
  await same.close();
});

await step("metadata", async () => {
  const info = await box.patchMetadata({ owner: null, note: "a-b", project: "Apollo-11" });
  assert.deepEqual(info.metadata, { project: "Apollo-11", note: "a-b" });
  await refused(() => box.patchMetadata({ "opensandbox.io/x": "1" }), 400, "INVALID_METADATA_LABEL");
});

await step("list", async () => {
  const page = await manager.listSandboxInfos({ states: ["running"], metadata: { project: "Apollo-11", note: "a-b" }, pageSize: 5 });
  assert.deepEqual(page.items.map((i) => i.id), [box.id]);
  assert.ok(page.items[0].createdAt instanceof Date);
  assert.deepEqual(page.pagination, { page: 1, pageSize: 5, totalItems: 1, totalPages: 1, hasNextPage: false });
  assert.deepEqual((await manager.listSandboxInfos({ metadata: { project: "none" } })).items, []);
});

await step("renew", async () => {
  const { expiresAt } = await box.renew(1200);
  assert.ok(expiresAt - Date.now() > 1_100_000);
  assert.equal(+(await box.getInfo()).expiresAt, +expiresAt);
  await refused(() => box.renew(-10), 400, "DOCKER::INVALID_EXPIRATION");
});

await step("pause and resume", async () => {
  const counter = await box.commands.run("i=0; while sleep 0.01; do echo $((i++)) > /tmp/new && mv /tmp/new /tmp/count; done", { background: true });
  await until("the counter", async () => (await box.commands.run("cat /tmp/count")).logs.stdout.length > 0);
  await box.pause();
  assert.equal((await manager.getSandboxInfo(box.id)).status.state, "Paused");
  await refused(() => manager.createSnapshot(box.id), 409, "SNAPSHOT::INVALID_SOURCE_STATE");
  box = await box.resume(); // the same connection, which one close ends for both
  assert.equal((await box.getInfo()).status.state, "Running");
  await refused(() => manager.resumeSandbox(box.id), 409, "DOCKER::SANDBOX_NOT_PAUSED");
  // It goes on where it was.
  assert.equal((await box.commands.getCommandStatus(counter.id)).running, true);
  const before = Number(await box.files.readFile("/tmp/count"));
  await until("the counter to go on", async () => Number(await box.files.readFile("/tmp/count")) > before);
  await box.commands.interrupt(counter.id);
});

await step("snapshot and restore", async () => {
  await box.files.writeFiles([{ path: "/opt/state.txt", data: "as it was" }]);
  const made = await manager.createSnapshot(box.id, { name: "js" });
  assert.equal(made.sandboxId, box.id);
  assert.equal(made.name, "js");
  await until("the snapshot", async () => (await manager.getSnapshot(made.id)).status.state === "Ready");
  await box.files.writeFiles([{ path: "/opt/state.txt", data: "changed" }]);
  assert.deepEqual((await manager.listSnapshots({ sandboxId: box.id, states: ["Ready"] })).items.map((s) => s.id), [made.id]);
  const restored = await Sandbox.create({ connectionConfig, snapshotId: made.id, timeoutSeconds: null });
  try {
    assert.equal(await restored.files.readFile("/opt/state.txt"), "as it was");
    const info = await restored.getInfo();
    assert.equal(info.snapshotId, made.id);
    assert.equal(info.expiresAt, null);
    await refused(() => manager.deleteSnapshot(made.id), 409, "SNAPSHOT::DELETE_CONFLICT");
  } finally {
    await restored.kill();
    await restored.close();
  }
  await manager.deleteSnapshot(made.id);
  await refused(() => manager.getSnapshot(made.id), 404, "SNAPSHOT::NOT_FOUND");
  await refused(() => Sandbox.create({ connectionConfig, snapshotId: made.id }), 404, "SNAPSHOT::NOT_FOUND");
});

await step("network policy", async () => {
  const walled = await Sandbox.create({
    connectionConfig, image: "host",
    networkPolicy: { egress: [{ action: "allow", target: "example.org" }] },
  });
  try {
    assert.deepEqual(await walled.getEgressPolicy(),
      { defaultAction: "deny", egress: [{ action: "allow", target: "example.org" }] });
    await walled.patchEgressRules([{ action: "deny", target: "bad.example.org" }, { action: "allow", target: "*.example.org" }]);
    assert.deepEqual((await walled.getEgressPolicy()).egress, [
      { action: "deny", target: "bad.example.org" },
      { action: "allow", target: "*.example.org" },
      { action: "allow", target: "example.org" },
    ]);
    await walled.deleteEgressRules(["BAD.example.org", "nowhere.example"]);
    assert.deepEqual(await walled.getEgressPolicy(), {
      defaultAction: "deny",
      egress: [{ action: "allow", target: "*.example.org" }, { action: "allow", target: "example.org" }],
    });
    await refused(() => walled.patchEgressRules([{ action: "block", target: "example.org" }]), 400);
    await refused(() => walled.patchEgressRules([]), 400);
  } finally {
    await walled.kill();
    await walled.close();
  }
});

await step("credential vault", async () => {
  const bound = await Sandbox.create({
    connectionConfig, image: "host", credentialProxy: { enabled: true },
    networkPolicy: { egress: [{ action: "allow", target: "api.example.org" }] },
  });
  const vault = bound.credentialVault;
  try {
    await refused(() => vault.get(), 404);
    const binding = { name: "api", match: { hosts: ["api.example.org"] }, auth: { type: "bearer", credential: "token" } };
    const state = await vault.create({ credentials: [{ name: "token", source: { type: "inline", value: "canary" } }], bindings: [binding] });
    assert.deepEqual([state.revision, state.bindings[0].match.ports, state.bindings[0].auth], [1, [443], { type: "bearer" }]);
    await refused(() => vault.create({ credentials: [], bindings: [] }), 409);
    assert.equal((await vault.patch({ bindings: { replace: [{ ...binding, auth: { type: "basic", credential: "token" } }] } })).revision, 2);
    await refused(() => vault.patch({ credentials: { delete: ["token"] } }), 400);
    assert.equal((await vault.getCredential("token")).sourceType, "inline");
    await vault.delete();
    await refused(() => vault.get(), 404);
  } finally {
    await bound.kill();
    await bound.close();
  }
});

// A server on an address of this machine's own is outside for a sandbox.
const address = Object.values(networkInterfaces()).flat().find((a) => a.family === "IPv4" && !a.internal)?.address;
await step("network policy at work", async () => {
  const server = createServer((_, res) => res.end("from outside"));
  await new Promise((r) => server.listen(0, address, r));
  const walled = await Sandbox.create({ connectionConfig, image: "host", networkPolicy: {} });
  try {
    const fetched = `python3 -c 'import urllib.request as u; print(u.urlopen("http://${address}:${server.address().port}").read().decode())'`;
    const reaches = async () => (await walled.commands.run(fetched)).logs.stdout[0]?.text === "from outside";
    assert.equal(await reaches(), false);
    await walled.patchEgressRules([{ action: "allow", target: address }]);
    assert.equal(await reaches(), true);
    await walled.deleteEgressRules([address]);
    assert.equal(await reaches(), false);
  } finally {
    server.close();
    await walled.kill();
    await walled.close();
  }
}, !address && "this machine has no address but loopback");

await step("a named volume", async () => {
  const make = (pvc) => Sandbox.create({
    connectionConfig, image: "host",
    volumes: [{ name: "kept", pvc: { claimName: "js-kept", ...pvc }, mountPath: "/kept" }],
  });
  await refused(() => make({ createIfNotExists: false }), 400, "VOLUME::PVC_NOT_FOUND");
  const one = await make({ deleteOnSandboxTermination: true });
  const two = await make({ createIfNotExists: false });
  await one.commands.run("echo between > /kept/f");
  assert.equal((await two.commands.run("cat /kept/f")).logs.stdout[0].text, "between");
  for (const box of [two, one]) {
    await box.kill();
    await box.close();
  }
  await refused(() => make({ createIfNotExists: false }), 400, "VOLUME::PVC_NOT_FOUND");
});

await step("errors", async () => {
  const nobody = "00000000-0000-4000-8000-000000000000";
  const e = await refused(() => manager.getSandboxInfo(nobody), 404, "DOCKER::SANDBOX_NOT_FOUND");
  assert.ok(e.requestId && e.message, "the request's id and the message");
  await refused(() => manager.killSandbox(nobody), 404);
  await refused(() => Sandbox.connect({ connectionConfig, sandboxId: nobody }), 404);
  await refused(() => SandboxManager.create({ connectionConfig: { domain, apiKey: "wrong" } }).listSandboxInfos(), 401, "INVALID_API_KEY");
  await refused(() => Sandbox.create({ connectionConfig, image: "host", timeoutSeconds: 5 }), 422);
  await refused(() => Sandbox.create({ connectionConfig, image: "host", metadata: { "bad key": "x" } }), 400, "SANDBOX::INVALID_METADATA_LABEL");
  await refused(() => Sandbox.create({ connectionConfig, image: "host", secureAccess: true }), 400);
  await refused(() => Sandbox.create({
    connectionConfig, image: "host",
    volumes: [{ name: "etc", host: { path: "/etc" }, mountPath: "/mnt/etc" }],
  }), 400, "VOLUME::HOST_PATH_NOT_ALLOWED");
});

await step("what the engine has not", async () => {
  await assert.rejects(() => box.isolation.create({ workspace: { path: "/tmp" } }), /failed: 404/);
});

await step("kill", async () => {
  await box.kill();
  await refused(() => box.getInfo(), 404, "DOCKER::SANDBOX_NOT_FOUND");
  await refused(() => box.kill(), 404);
  assert.equal(await box.isHealthy(), false);
  assert.deepEqual((await manager.listSandboxInfos()).items, []);
});

await box.close();
await manager.close();
