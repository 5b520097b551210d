# Runs cells of Python for execd: requests come as lines of JSON on descriptor
# 3, answers go as such on descriptor 4. Standard output and error are the
# cells' own.
def _execd():
    import __future__, ast, base64, fcntl, inspect, json, linecache, os, signal, sys, traceback

    # Out of the cells' way, and not for their children.
    def away(fd):
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)

    requests, answers = os.fdopen(away(3), "rb"), away(4)
    os.close(3)
    os.close(4)
    standard = [away(fd) for fd in range(3)]
    pid = os.getpid()
    limit = 32 << 20
    main = sys.modules["__main__"].__dict__
    del main["_execd"]
    main["__doc__"] = None
    features = [getattr(__future__, name) for name in __future__.all_feature_names]
    state = {"flags": getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0), "loop": None}
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)

    def send(**message):
        data = json.dumps(message, default=str).encode() + b"\n"
        if len(data) > limit:
            message["data"] = {"text": "<a result of %d bytes is too large to be sent>" % len(data)}
            data = json.dumps(message, default=str).encode() + b"\n"
        while data:
            data = data[os.write(answers, data):]

    def compiled(tree, filename, mode):
        code = compile(tree, filename, mode, flags=state["flags"], dont_inherit=True)
        for feature in features:
            state["flags"] |= code.co_flags & feature.compiler_flag
        return code

    def evaluate(code):
        value = eval(code, main)
        if not code.co_flags & inspect.CO_COROUTINE:
            return value
        import asyncio
        if state["loop"] is None or state["loop"].is_closed():
            state["loop"] = asyncio.new_event_loop()
        asyncio.set_event_loop(state["loop"])
        return state["loop"].run_until_complete(value)

    def execute(source, filename):
        tree = compile(source, filename, "exec", flags=ast.PyCF_ONLY_AST | state["flags"], dont_inherit=True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        evaluate(compiled(tree, filename, "exec"))
        if last is not None:
            return evaluate(compiled(last, filename, "eval"))

    kinds = {
        "_repr_html_": "text/html", "_repr_markdown_": "text/markdown", "_repr_latex_": "text/latex",
        "_repr_svg_": "image/svg+xml", "_repr_png_": "image/png", "_repr_jpeg_": "image/jpeg",
        "_repr_pdf_": "application/pdf", "_repr_json_": "application/json", "_repr_javascript_": "application/javascript",
    }

    def forms(value):
        data = {"text": repr(value)}
        if isinstance(value, type):
            return data
        def ask(name, *args):
            method = getattr(type(value), name, None)
            try:
                form = method(value, *args) if method else None
            except Exception:
                return None
            return form[0] if isinstance(form, tuple) else form
        for name, kind in kinds.items():
            form = ask(name)
            if isinstance(form, bytes):
                form = base64.b64encode(form).decode()
            if form is not None:
                data[kind] = form
        for kind, form in (ask("_repr_mimebundle_", None, None) or {}).items():
            if isinstance(form, bytes):
                form = base64.b64encode(form).decode()
            data["text" if kind == "text/plain" else kind] = form
        return data

    def explain(error):
        try:
            text = str(error)
        except BaseException:
            text = "<the exception has no text>"
        name = type(error).__name__
        try:
            trace = error.__traceback__
            while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
                trace = trace.tb_next
            lines = "".join(traceback.TracebackException(type(error), error, trace).format())
        except BaseException:
            lines = name + ": " + text
        return {"ename": name, "evalue": text, "traceback": lines.rstrip("\n").split("\n")}

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass

    def cell(source, count):
        filename = "<cell %d>" % count
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        failure = data = None
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                send(type="begun", count=count)
                value = execute(source, filename)
                if value is not None and os.getpid() == pid:
                    import builtins
                    builtins._ = value
                    data = forms(value)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except BaseException as error:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            failure = explain(error)
            error.__traceback__ = None
        flush()
        if os.getpid() != pid:
            os._exit(failure is not None)  # a fork of the cell's
        if data is not None:
            send(type="result", count=count, data=data)
        if failure is not None:
            send(type="error", **failure)
        send(type="done", count=count)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    send(type="ready")
    count = 0
    while True:
        line = requests.readline()
        if not line:
            os._exit(0)
        for fd in range(3):
            os.dup2(standard[fd], fd)  # whatever the last cell made of them
        count += 1
        cell(json.loads(line)["code"], count)


_execd()
