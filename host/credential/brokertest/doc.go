// Package brokertest is the shared suite that says what every credential.Broker must do. Each rule is a
// named case with a sentence; a case that needs something which the broker or its surroundings don't have
// is reported as not run, apart from those that passed.
//
// In a test:
//
//	func TestBroker(t *testing.T) {
//		brokertest.Run(t, func(t brokertest.T) brokertest.Bench {
//			return brokertest.Bench{
//				Open:    func(ctx context.Context) (credential.Broker, error) { return mine.Open(ctx) },
//				Sidecar: func(o brokertest.SidecarOptions) (brokertest.Sidecar, error) { return sidecar.Open(o) },
//				Values:  map[string]string{"secret:github": "s3cr3t"},
//			}
//		})
//	}
//
// In a command, which has no testing package: [Check].
//
// What a sandbox's requests get is asked of a [Sidecar], which stands for the egress sidecar of one
// sandbox and can be made to fail.
//
// imports: host/credential, host/internal/caserun.
package brokertest
