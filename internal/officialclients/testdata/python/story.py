"""What a program does with the official OpenSandbox client for Python, from create to kill.

Each step is a line of JSON on stdout: its name, and its error when it has one.
"""

import asyncio
import json
import logging
import re
import sys
import time
import traceback
import urllib.request
from datetime import datetime, timedelta, timezone

from code_interpreter import CodeInterpreterSync
from code_interpreter.models.code_sync import SupportedLanguageSync
from opensandbox import Sandbox, SandboxManagerSync, SandboxSync
from opensandbox.config import ConnectionConfig
from opensandbox.config.connection_sync import ConnectionConfigSync
from opensandbox.exceptions import SandboxApiException, SandboxException
from opensandbox.models.execd import RunCommandOpts
from opensandbox.models.execd_sync import ExecutionHandlersSync
from opensandbox.models.filesystem import (
    ContentReplaceEntry,
    DirectoryListEntry,
    MoveEntry,
    SearchEntry,
    SetPermissionEntry,
    WriteEntry,
)
from opensandbox.models.sandboxes import (
    Credential,
    CredentialAuth,
    CredentialBinding,
    CredentialMatch,
    CredentialMutationSet,
    CredentialProxyConfig,
    Host,
    NetworkPolicy,
    NetworkRule,
    PVC,
    SandboxFilter,
    SnapshotFilter,
    Volume,
)
from opensandbox.pool import InMemoryPoolStateStore, PoolCreationSpec, SandboxPoolSync

logging.disable(logging.CRITICAL)  # refusals are wanted here, and the client logs each

given = json.load(sys.stdin)
config = ConnectionConfigSync(
    domain=given["domain"], api_key=given["apiKey"], request_timeout=timedelta(minutes=2))  # a busy machine is slow
manager = SandboxManagerSync.create(config)


def step(name):
    def run(f):
        error = None
        try:
            f()
        except BaseException as e:  # noqa: BLE001
            error = traceback.format_exc()
            if body := getattr(e, "response_body", None):
                error += repr(body)
        print(json.dumps({"step": name, **({"error": error} if error else {})}), flush=True)

    return run


def refused(status, code, f, *args, **kwargs):
    """Wants f to fail with a status, and with a code unless that is None."""
    try:
        f(*args, **kwargs)
    except SandboxApiException as e:
        assert e.status_code == status, (e.status_code, e.response_body, e)
        assert code is None or e.error.code == code, (e.error.code, e.response_body)
        return e
    raise AssertionError(f"nothing was refused, and {status} was expected")


def until(what, f):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if v := f():
            return v
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def same(got, want):
    assert got == want, f"{got!r}, want {want!r}"


def texts(messages):
    return [m.text for m in messages]


def out(execution):
    return texts(execution.logs.stdout)


box = None


@step("create")
def _():
    global box
    box = SandboxSync.create(
        "host",
        connection_config=config,
        env={"GREETING": "hello"},
        metadata={"project": "Gemini", "owner": "python"},
        resource={"cpu": "1", "memory": "512Mi"},
        timeout=timedelta(minutes=10),
        volumes=[Volume(name="data", host=Host(path=given["hostPath"]), mount_path="/mnt/data", read_only=True)],
    )
    assert re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", box.id)
    assert box.is_healthy()


if box is None:
    sys.exit(1)


@step("info")
def _():
    info = box.get_info()
    same(info.id, box.id)
    same(info.status.state, "Running")
    same(info.image.image, "host")
    same(info.entrypoint, ["tail", "-f", "/dev/null"])
    same(info.metadata, {"project": "Gemini", "owner": "python"})
    left = info.expires_at - datetime.now(timezone.utc)
    assert timedelta(minutes=5) < left <= timedelta(minutes=10), left


@step("exec")
def _():
    r = box.commands.run("echo $GREETING; echo oops >&2; cat /mnt/data/note; echo 'ünï 🎉'")
    same(out(r), ["hello", "from the host", "ünï 🎉"])
    same(texts(r.logs.stderr), ["oops"])
    same(r.exit_code, 0)
    assert r.id and r.complete and not r.error


@step("exec options")
def _():
    r = box.commands.run(
        'pwd; id -u; id -g; echo "$A $B"',
        opts=RunCommandOpts(working_directory="/tmp", uid=1000, gid=1000, envs={"A": "1", "B": "two words"}),
    )
    same(out(r), ["/tmp", "1000", "1000", "1 two words"])


@step("exec of a list")
def _():
    r = box.commands.run(["printf", "%s|", "$HOME", "two words", "*"])
    same(out(r), ["$HOME|two words|*|"])
    same(box.commands.run(["sh", "-c", "exit 5"]).exit_code, 5)
    missing = box.commands.run(["no-such-program"])
    assert missing.error, missing


@step("exec that fails")
def _():
    r = box.commands.run("echo before; exit 7")
    same(r.exit_code, 7)
    same(r.error.name, "CommandExecError")
    same(r.error.traceback, ["exit status 7"])
    same(out(r), ["before"])
    refused(400, "INVALID_REQUEST_BODY", box.commands.run, "true", opts=RunCommandOpts(working_directory="/nowhere"))


@step("exec that takes too long")
def _():
    r = box.commands.run("echo start; sleep 600", opts=RunCommandOpts(timeout=timedelta(milliseconds=500)))
    same(r.exit_code, -1)
    same(r.error.traceback, ["signal: killed"])


@step("environment that stays")
def _():
    values = {"PLAIN": "1", "QUOTED": "it's \"so\"", "SPACED": " a  b ", "LINES": "one\ntwo", "DOLLAR": "$HOME #no"}
    for k, v in values.items():
        box.commands.set_env(k, v)
    for k, v in values.items():
        same("\n".join(out(box.commands.run(f'printf "%s" "${k}"'))), v)
    session = box.commands.create_session()
    same(out(box.commands.run_in_session(session, "echo $PLAIN")), ["1"])
    box.commands.delete_session(session)


@step("streams")
def _():
    seen = []

    def acknowledge(m):  # each line must be here before the next is written
        seen.append(m.text)
        box.files.write_file(f"/tmp/ack{m.text[-1]}", "")

    box.commands.run(
        "for i in 1 2 3; do echo line $i; while ! [ -e /tmp/ack$i ]; do sleep 0.01; done; done",
        handlers=ExecutionHandlersSync(
            on_init=lambda i: seen.append("init"),
            on_stdout=acknowledge,
            on_execution_complete=lambda c: seen.append("complete"),
        ),
    )
    same(seen, ["init", "line 1", "line 2", "line 3", "complete"])


@step("much output")
def _():
    seen = [0, 0]

    def count(m):
        seen[0] += 1
        seen[1] += len(m.text)

    r = box.commands.run(
        "seq 1 20000; head -c 1000000 /dev/zero | tr '\\0' x",
        handlers=ExecutionHandlersSync(on_stdout=count, skip_accumulation=True),
    )
    same(seen, [20001, 88894 + 1000000])
    same(r.exit_code, 0)


@step("interrupt and background")
def _():
    r = box.commands.run("sleep 600", handlers=ExecutionHandlersSync(on_init=lambda i: box.commands.interrupt(i.id)))
    same(r.exit_code, -1)
    same(r.error.traceback, ["signal: terminated"])
    refused(500, None, box.commands.interrupt, "nosuch")
    r = box.commands.run(
        "echo one; while ! [ -e /tmp/go ]; do sleep 0.01; done; echo two; exit 4",
        opts=RunCommandOpts(background=True),
    )
    logs = until("the first line", lambda: (l := box.commands.get_background_command_logs(r.id)).content and l)
    same(logs.content, "one\n")
    assert box.commands.get_command_status(r.id).running
    box.files.write_file("/tmp/go", "")
    status = until("its end", lambda: not (s := box.commands.get_command_status(r.id)).running and s)
    same(status.exit_code, 4)
    assert status.finished_at >= status.started_at
    same(box.commands.get_background_command_logs(r.id, logs.cursor).content, "two\n")
    refused(404, None, box.commands.get_command_status, "nosuch")


@step("sessions")
def _():
    s = box.commands.create_session(working_directory="/tmp")
    same(box.commands.run_in_session(s, "export X=kept; mkdir -p in; cd in; f() { echo f:$1; }").exit_code, 0)
    r = box.commands.run_in_session(s, "echo $X; pwd; f 1; false")
    same(out(r), ["kept", "/tmp/in", "f:1"])
    same(r.exit_code, 1)
    same(out(box.commands.run_in_session(s, "pwd", working_directory="/usr")), ["/usr"])
    same(box.commands.run_in_session(s, "sleep 600", timeout=timedelta(milliseconds=500)).exit_code, -1)
    box.commands.delete_session(s)
    refused(404, None, box.commands.run_in_session, s, "true")


@step("files")
def _():
    box.files.create_directories([WriteEntry(path="/tmp/files/deep", mode=750)])
    big = bytes(range(256)) * 16384
    box.files.write_files([
        WriteEntry(path="/tmp/files/a.txt", data="line 1\nline 2\nline 3\nline 4\n", mode=640),
        WriteEntry(path="/tmp/files/deep/big.bin", data=big),
        WriteEntry(path="/tmp/files/ünï 1.txt", data="ü"),
    ])
    same(box.files.read_file("/tmp/files/ünï 1.txt"), "ü")
    same(box.files.read_file("/tmp/files/a.txt", range_header="bytes=0-5"), "line 1")
    same(box.files.read_file("/tmp/files/a.txt", offset=2, limit=2), "line 2\nline 3")
    same(b"".join(box.files.read_bytes_stream("/tmp/files/deep/big.bin")), big)
    info = box.files.get_file_info(["/tmp/files/a.txt", "/tmp/files/deep"])
    a = info["/tmp/files/a.txt"]
    same((a.size, a.mode, a.entry_type, a.owner), (28, 640, "file", "root"))
    assert abs(a.modified_at - datetime.now(timezone.utc)) < timedelta(minutes=5)
    same(info["/tmp/files/deep"].entry_type, "directory")
    found = box.files.search(SearchEntry(path="/tmp/files", pattern="*.txt"))
    same(sorted(f.path for f in found), ["/tmp/files/a.txt", "/tmp/files/ünï 1.txt"])
    listed = box.files.list_directory(DirectoryListEntry(path="/tmp/files", depth=2))
    assert any(f.path == "/tmp/files/deep/big.bin" and f.size == len(big) for f in listed), listed
    box.files.write_file("/tmp/files/b.txt", "old old")
    replaced = box.files.replace_contents_detailed(
        [ContentReplaceEntry(path="/tmp/files/b.txt", old_content="old", new_content="new")])
    same([(r.path, r.replaced_count) for r in replaced], [("/tmp/files/b.txt", 2)])
    same(box.files.read_file("/tmp/files/b.txt"), "new new")
    box.files.set_permissions([SetPermissionEntry(path="/tmp/files/b.txt", mode=600, owner="nobody", group="nogroup")])
    same(out(box.commands.run("stat -c '%a %U %G' /tmp/files/b.txt")), ["600 nobody nogroup"])
    box.files.move_files([MoveEntry(src="/tmp/files/b.txt", dest="/tmp/files/deep/c.txt")])
    box.files.delete_files(["/tmp/files/a.txt"])
    refused(404, "FILE_NOT_FOUND", box.files.read_file, "/tmp/files/a.txt")
    refused(404, "FILE_NOT_FOUND", box.files.get_file_info, ["/tmp/files/b.txt"])
    box.files.delete_directories(["/tmp/files"])
    refused(404, None, box.files.list_directory, DirectoryListEntry(path="/tmp/files"))


@step("metrics")
def _():
    m = box.get_metrics()
    assert 0 < m.cpu_count <= 1 and m.memory_total_in_mib > 0 and m.memory_used_in_mib >= 0, m
    assert abs(m.timestamp / 1000 - time.time()) < 60, m


@step("endpoints and proxy")
def _():
    box.files.write_file("/srv/www/index.txt", "served")
    box.commands.run(
        "exec python3 -m http.server --bind 127.0.0.1 --directory /srv/www 8000", opts=RunCommandOpts(background=True))
    endpoint = box.get_endpoint(8000).endpoint
    assert "://" not in endpoint

    def page():
        try:
            return urllib.request.urlopen(f"http://{endpoint}/index.txt").read()
        except urllib.error.HTTPError:
            return None

    same(until("the server in the sandbox", page), b"served")
    refused(400, None, box.get_signed_endpoint, 8000, int(time.time()) + 60)
    proxied = SandboxSync.connect(
        box.id,
        connection_config=ConnectionConfigSync(domain=given["domain"], api_key=given["apiKey"], use_server_proxy=True))
    same(out(proxied.commands.run("echo through")), ["through"])
    proxied.close()


@step("metadata and list")
def _():
    info = box.patch_metadata({"owner": None, "note": "a-b", "project": "Gemini-8"})
    same(info.metadata, {"project": "Gemini-8", "note": "a-b"})
    refused(400, "INVALID_METADATA_LABEL", box.patch_metadata, {"opensandbox.io/x": "1"})
    page = manager.list_sandbox_infos(
        SandboxFilter(states=["running"], metadata={"project": "Gemini-8", "note": "a-b"}, page_size=5))
    same([i.id for i in page.sandbox_infos], [box.id])
    same((page.pagination.total_items, page.pagination.has_next_page), (1, False))
    same(manager.list_sandbox_infos(SandboxFilter(metadata={"project": "none"})).sandbox_infos, [])


@step("renew")
def _():
    renewed = box.renew(timedelta(minutes=20)).expires_at
    assert renewed - datetime.now(timezone.utc) > timedelta(minutes=18)
    same(box.get_info().expires_at, renewed)
    refused(400, "DOCKER::INVALID_EXPIRATION", box.renew, timedelta(seconds=-10))


@step("pause and resume")
def _():
    global box
    counter = box.commands.run(
        "i=0; while sleep 0.01; do echo $((i++)) > /tmp/new && mv /tmp/new /tmp/count; done",
        opts=RunCommandOpts(background=True))
    until("the counter", lambda: out(box.commands.run("cat /tmp/count")))
    box.pause()
    same(manager.get_sandbox_info(box.id).status.state, "Paused")
    refused(409, "SNAPSHOT::INVALID_SOURCE_STATE", manager.create_snapshot, box.id)
    box = SandboxSync.resume(box.id, connection_config=config)
    same(box.get_info().status.state, "Running")
    refused(409, "DOCKER::SANDBOX_NOT_PAUSED", manager.resume_sandbox, box.id)
    assert box.commands.get_command_status(counter.id).running

    def count():
        return int(box.files.read_file("/tmp/count"))

    before = count()
    until("the counter to go on", lambda: count() > before)
    box.commands.interrupt(counter.id)


@step("snapshot and restore")
def _():
    box.files.write_file("/opt/state.txt", "as it was")
    made = box.create_snapshot("python")
    same((made.sandbox_id, made.name), (box.id, "python"))
    until("the snapshot", lambda: manager.get_snapshot(made.id).status.state == "Ready")
    other = box.create_snapshot("other")
    until("the other", lambda: manager.get_snapshot(other.id).status.state == "Ready")
    box.files.write_file("/opt/state.txt", "changed")
    same([s.id for s in manager.list_snapshots(SnapshotFilter(sandbox_id=box.id, states=["Ready"])).snapshot_infos],
         [other.id, made.id])
    same([s.id for s in manager.list_snapshots(SnapshotFilter(sandbox_id=box.id, name="python")).snapshot_infos], [made.id])
    restored = SandboxSync.create(snapshot_id=made.id, connection_config=config, timeout=None)
    try:
        same(restored.files.read_file("/opt/state.txt"), "as it was")
        info = restored.get_info()
        same((info.snapshot_id, info.expires_at), (made.id, None))
        refused(409, "SNAPSHOT::DELETE_CONFLICT", manager.delete_snapshot, made.id)
    finally:
        restored.destroy()
    manager.delete_snapshot(made.id)
    manager.delete_snapshot(other.id)
    refused(404, "SNAPSHOT::NOT_FOUND", manager.get_snapshot, made.id)
    refused(404, None, SandboxSync.create, snapshot_id=made.id, connection_config=config)


@step("network policy")
def _():
    walled = SandboxSync.create(
        "host", connection_config=config,
        network_policy=NetworkPolicy(default_action="deny", egress=[NetworkRule(action="allow", target="example.org")]))

    def rules():
        policy = walled.get_egress_policy()
        same(policy.default_action, "deny")
        return [(r.action, r.target) for r in policy.egress]

    try:
        same(rules(), [("allow", "example.org")])
        walled.patch_egress_rules([
            NetworkRule(action="deny", target="bad.example.org"), NetworkRule(action="allow", target="*.example.org")])
        same(rules(), [("deny", "bad.example.org"), ("allow", "*.example.org"), ("allow", "example.org")])
        walled.delete_egress_rules(["BAD.example.org", "nowhere.example"])
        same(rules(), [("allow", "*.example.org"), ("allow", "example.org")])
        refused(400, None, walled.patch_egress_rules, [])
    finally:
        walled.destroy()


@step("credential vault")
def _():
    bound = SandboxSync.create(
        "host", connection_config=config, credential_proxy=CredentialProxyConfig(enabled=True),
        network_policy=NetworkPolicy(default_action="deny", egress=[NetworkRule(action="allow", target="*.example.org")]))
    vault = bound.credential_vault
    try:
        refused(404, None, vault.get)
        state = vault.create(
            credentials=[Credential(name="token", source={"type": "inline", "value": "canary"})],
            bindings=[CredentialBinding(
                name="api", match=CredentialMatch(hosts=["api.example.org"], paths=["/v1/*"]),
                auth=CredentialAuth(type="apiKey", name="x-api-key", credential="token"))])
        same((state.revision, state.credentials[0].source_type, state.bindings[0].auth.name), (1, "inline", "X-Api-Key"))
        state = vault.patch(expected_revision=1, credentials=CredentialMutationSet(
            replace=[Credential(name="token", source={"type": "inline", "value": "other"})]))
        same((state.revision, state.bindings[0].revision), (2, 2))
        refused(409, None, vault.patch, expected_revision=1)
        refused(400, None, bound.delete_egress_rules, ["*.example.org"])
        same([c.name for c in vault.list_credentials()], ["token"])
        same(vault.get_binding("api").match.hosts, ["api.example.org"])
        vault.delete()
        refused(404, None, vault.list_bindings)
    finally:
        bound.destroy()


@step("code")
def _():
    interpreter = CodeInterpreterSync.create(sandbox=box)
    assert interpreter.is_healthy()
    codes = interpreter.codes
    context = codes.create_context(SupportedLanguageSync.PYTHON)
    seen = []
    r = codes.run(
        "import sys\nx = 20\nprint('out')\nprint('err', file=sys.stderr)\nx + 1", context=context,
        handlers=ExecutionHandlersSync(
            on_stdout=lambda m: seen.append(m.text), on_result=lambda v: seen.append(v.text),
            on_execution_complete=lambda c: seen.append("complete")))
    same("".join(out(r)).strip(), "out")
    same("".join(texts(r.logs.stderr)).strip(), "err")
    same([v.text for v in r.result], ["21"])
    assert not r.error and r.execution_count == 1, r
    same([s.strip() for s in seen], ["out", "21", "complete"])
    same([v.text for v in codes.run("x * 2", context=context).result], ["40"])
    same([v.text for v in codes.run("'y' in dir()").result], ["False"])  # the default context is another
    wrong = codes.run("1/0", context=context)
    same((wrong.error.name, wrong.error.value), ("ZeroDivisionError", "division by zero"))
    assert any("ZeroDivisionError" in line for line in wrong.error.traceback), wrong.error
    same(codes.get_context(context.id).id, context.id)
    assert context.id in [c.id for c in codes.list_contexts("python")]
    ended = codes.run(
        "import time\ntime.sleep(600)", context=context,
        handlers=ExecutionHandlersSync(on_init=lambda i: codes.interrupt(i.id)))
    same(ended.error.name, "KeyboardInterrupt")
    same([v.text for v in codes.run("x", context=context).result], ["20"])
    codes.delete_context(context.id)
    refused(404, None, codes.get_context, context.id)
    same("".join(out(codes.run("const a = [1, 2]; console.log(a.length)", language="javascript"))).strip(), "2")
    same("".join(out(codes.run("v=7; echo $((v + 1))", language="bash"))).strip(), "8")
    codes.delete_contexts("python")
    interpreter.close()


@step("the asynchronous client")
def _():
    async def story():
        async with await Sandbox.create(
            "host", connection_config=ConnectionConfig(domain=given["domain"], api_key=given["apiKey"])
        ) as b:
            runs = await asyncio.gather(*(b.commands.run(f"echo {i}") for i in range(8)))
            same([out(r) for r in runs], [[str(i)] for i in range(8)])
            await b.files.write_file("/tmp/x", "async")
            same(await b.files.read_file("/tmp/x"), "async")
            await b.kill()

    asyncio.run(story())


@step("a pool of the client")
def _():
    pool = SandboxPoolSync(
        pool_name="story", max_idle=1, state_store=InMemoryPoolStateStore(), connection_config=config,
        creation_spec=PoolCreationSpec(image="host", metadata={"pool": "story"}))
    pool.start()
    try:
        for _ in range(2):
            b = pool.acquire(sandbox_timeout=timedelta(minutes=5))
            same(out(b.commands.run("echo pooled")), ["pooled"])
            b.destroy()
    finally:
        pool.shutdown()
    pooled = SandboxFilter(metadata={"pool": "story"})
    for info in manager.list_sandbox_infos(pooled).sandbox_infos:  # what is idle stays
        manager.kill_sandbox(info.id)
    same(manager.list_sandbox_infos(pooled).sandbox_infos, [])


@step("a named volume")
def _():
    def volumes(**more):
        return [Volume(name="kept", pvc=PVC(claim_name="python-kept", **more), mount_path="/kept")]

    refused(400, "VOLUME::PVC_NOT_FOUND", SandboxSync.create, "host", connection_config=config, volumes=volumes(create_if_not_exists=False))
    one = SandboxSync.create("host", connection_config=config, volumes=volumes(delete_on_sandbox_termination=True))
    two = SandboxSync.create("host", connection_config=config, volumes=volumes(create_if_not_exists=False))
    one.commands.run("echo between > /kept/f")
    assert two.commands.run("cat /kept/f").text == "between", "what the other sandbox wrote"
    two.kill()
    one.kill()
    refused(400, "VOLUME::PVC_NOT_FOUND", SandboxSync.create, "host", connection_config=config, volumes=volumes(create_if_not_exists=False))


@step("errors")
def _():
    nobody = "00000000-0000-4000-8000-000000000000"
    e = refused(404, "DOCKER::SANDBOX_NOT_FOUND", manager.get_sandbox_info, nobody)
    assert e.request_id, "the request's id"
    refused(404, None, manager.kill_sandbox, nobody)
    refused(404, None, SandboxSync.connect, nobody, connection_config=config)
    stranger = SandboxManagerSync.create(ConnectionConfigSync(domain=given["domain"], api_key="wrong"))
    refused(401, "INVALID_API_KEY", stranger.list_sandbox_infos, SandboxFilter())
    refused(422, None, SandboxSync.create, "host", timeout=timedelta(seconds=5), connection_config=config)
    refused(400, "SANDBOX::INVALID_METADATA_LABEL",
            SandboxSync.create, "host", metadata={"bad key": "x"}, connection_config=config)
    refused(400, "VOLUME::HOST_PATH_NOT_ALLOWED", SandboxSync.create, "host", connection_config=config,
            volumes=[Volume(name="etc", host=Host(path="/etc"), mount_path="/mnt/etc")])


@step("what the engine has not")
def _():
    refused(501, None, box.get_diagnostic_logs, "container")
    try:
        box.isolation.capabilities()
    except SandboxException:
        return
    raise AssertionError("isolated sessions are there")


@step("kill")
def _():
    box.kill()
    refused(404, "DOCKER::SANDBOX_NOT_FOUND", box.get_info)
    refused(404, None, box.kill)
    assert not box.is_healthy()
    same(manager.list_sandbox_infos(SandboxFilter()).sandbox_infos, [])
    box.close()


manager.close()
