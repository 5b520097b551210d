//! A credential broker whose values are secrets that the operator granted: static:NAME leads to NAME.

use alineo::http::granted_secret;
use alineo::*;

#[derive(Default)]
struct Static {
    vault: Vault, // puts credentials where the sandbox's requests leave
}

impl Plugin for Static {
    fn manifest(&self) -> Manifest {
        let secret = Want {
            name: "secret".into(),
            reason: "gives them to sandboxes as credentials".into(),
            optional: true,
            ..Want::default()
        };
        Manifest {
            name: "broker-static".into(),
            version: "1.0.0".into(),
            kinds: vec!["broker".into()],
            optional: vec!["broker.resolve".into()],
            capabilities: vec![secret],
            ..Manifest::default()
        }
    }

    fn broker_set(&mut self, request: BrokerSetRequest) -> Result<(), Error> {
        self.vault.set(&request)
    }

    fn broker_patch(&mut self, request: BrokerPatchRequest) -> Result<(), Error> {
        self.vault.patch(&request)
    }

    fn broker_remove(&mut self, request: BrokerRemoveRequest) -> Result<(), Error> {
        self.vault.remove(&request)
    }

    fn broker_list_bindings(&mut self, request: BrokerListRequest) -> Result<BrokerListReply, Error> {
        self.vault.list(&request)
    }

    fn broker_resolve(&mut self, request: BrokerResolveRequest) -> Result<BrokerResolveReply, Error> {
        let name = match request.source.r#ref.strip_prefix("static:") {
            Some(name) => name,
            None => return Err(Error::not_found("this broker knows references of the form static:NAME")),
        };
        let (value, _version) = granted_secret(name)?; // read anew each time, so that it can be rotated
        Ok(BrokerResolveReply { value: value.0, ..BrokerResolveReply::default() })
    }
}

alineo::plugin!(Static, Static::default);
