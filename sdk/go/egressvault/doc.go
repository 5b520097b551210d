// Package egressvault delivers credentials into the credential vault of an OpenSandbox egress sidecar. It
// is the half of a broker that is the same whatever the values come from:
//
//	func init() {
//		alineo.Serve(alineo.Plugin{
//			Manifest: abi.Manifest{Name: "my-broker", Version: "1.0.0"},
//			Broker:   egressvault.New(),
//			Resolver: mine{}, // finds values
//		})
//	}
//
// Values go from the host to the sidecar; the guest writes the documents around them. A vault that is
// there already is changed under its revision, again when somebody else changed it meanwhile; a sidecar
// that is still starting is asked again. A call returns when the change is in force: sidecars of
// OpenSandbox look at their vault every half second, so there it waits a little longer than that, and not
// at all where the sidecar says that it is in force at once.
//
// imports: abi, sdk/go/alineo.
package egressvault
