/* The half of a credential broker that is the same wherever its values come from: it delivers into the credential
 * vault of an OpenSandbox egress sidecar. Its functions are a plugin's operations:
 *
 *     alineo_plugin alineo_the_plugin = {
 *         .manifest = {…},
 *         .broker_set = alineo_vault_set,
 *         .broker_patch = alineo_vault_patch,
 *         .broker_remove = alineo_vault_remove,
 *         .broker_list_bindings = alineo_vault_list,
 *         .broker_resolve = mine,
 *     };
 *
 * Values go from the host to the sidecar; the plugin writes the documents around them. A vault that is there already
 * is changed under its revision, again when somebody else changed it meanwhile; a sidecar that is still starting is
 * asked again. A call returns when the change is in force. */
#ifndef ALINEO_VAULT_H
#define ALINEO_VAULT_H

#include "alineo.h"

/* Binds a credential, in the place of one of that name. */
alineo_error *alineo_vault_set(const alineo_broker_set_request *request, alineo_empty *reply);
/* Changes the value, the binding or both of what is bound. */
alineo_error *alineo_vault_patch(const alineo_broker_patch_request *request, alineo_empty *reply);
/* Ends what is bound under a name; nothing is fine. */
alineo_error *alineo_vault_remove(const alineo_broker_remove_request *request, alineo_empty *reply);
/* Says what is bound, as far as the sidecar tells. */
alineo_error *alineo_vault_list(const alineo_broker_list_request *request, alineo_broker_list_reply *reply);

#endif
