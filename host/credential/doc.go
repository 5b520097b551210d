// Package credential has what a sandbox's credentials are made of: the [Broker] that binds them, the
// [Binding] that says which requests get one, the [Source] that a value can be had from again, and
// [Secret], which can't be printed.
//
// A credential is a name, a value and a binding. The value goes to the sidecar through which the
// sandbox's requests leave; no process in the sandbox sees it:
//
//	binding := credential.Header("api.example.com", "/v1", "X-Api-Key")
//	err := broker.Set(ctx, sandbox, "example", credential.NewSecret(value), binding)
//
// The ledger has the name, the binding and the source, and no value. When the sandbox is resumed, the
// values are had again:
//
//	from := credential.Resolution{LookupEnv: os.LookupEnv, Broker: broker, Resolver: ask}
//	resolved, err := from.Resolve(ctx, sandboxID, "example", credential.Env("EXAMPLE_KEY"))
//	if errors.Is(err, credential.ErrUnresolved) {
//		// says which credential, of which sandbox, and why
//	}
//
// A [Redactor] keeps values that are known out of whatever is written: whole texts, JSON, errors, log
// lines, and, with a [Flow], text that comes in pieces:
//
//	known := credential.NewRedactor()
//	forget := known.Add(credential.NewSecret(value))
//	fmt.Println(known.Text("the token is " + value)) // the token is [redacted]
//
// The JSON of bindings and sources is the reference's where that can say it; see [Binding.MarshalJSON].
//
// imports: nothing of ours.
package credential
