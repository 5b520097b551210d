/* Written by internal/sdkgen from abi/. Do not edit. */

#include "alineo.h"
#include "alineo_internal.h"

static const alineo_field alineo_applied_fields[] = {
    {1, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_applied, applied), 0, 0},
};
const alineo_type alineo_applied_type = {"Applied", sizeof(alineo_applied), alineo_applied_fields, 1};

static const alineo_field alineo_auth_header_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_auth_header, name), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_auth_header, credential), 0, 0},
};
const alineo_type alineo_auth_header_type = {"AuthHeader", sizeof(alineo_auth_header), alineo_auth_header_fields, 2};

static const alineo_field alineo_batch_bytes_fields[] = {
    {1, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_bytes, data), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_bytes, total), 0, 0},
};
const alineo_type alineo_batch_bytes_type = {"BatchBytes", sizeof(alineo_batch_bytes), alineo_batch_bytes_fields, 2};

static const alineo_field alineo_batch_cell_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_cell, handle), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_cell, row), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_cell, column), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_cell, offset), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_cell, length), 0, 0},
};
const alineo_type alineo_batch_cell_type = {"BatchCell", sizeof(alineo_batch_cell), alineo_batch_cell_fields, 5};

static const alineo_field alineo_batch_read_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_read, handle), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_read, first), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_read, max_rows), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_read, max_bytes), 0, 0},
};
const alineo_type alineo_batch_read_type = {"BatchRead", sizeof(alineo_batch_read), alineo_batch_read_fields, 4};

static const alineo_field alineo_batch_rows_fields[] = {
    {1, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_rows, table), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_batch_rows, next), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_REPEATED, offsetof(alineo_batch_rows, cut), offsetof(alineo_batch_rows, cut_count), 0},
};
const alineo_type alineo_batch_rows_type = {"BatchRows", sizeof(alineo_batch_rows), alineo_batch_rows_fields, 3};

static const alineo_field alineo_binding_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_binding, schemes), offsetof(alineo_binding, schemes_count), 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_REPEATED, offsetof(alineo_binding, ports), offsetof(alineo_binding, ports_count), 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_binding, hosts), offsetof(alineo_binding, hosts_count), 0},
    {4, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_binding, methods), offsetof(alineo_binding, methods_count), 0},
    {5, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_binding, paths), offsetof(alineo_binding, paths_count), 0},
    {6, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_binding, auth), 0, 0},
    {7, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_binding, header), 0, 0},
    {8, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_binding, headers), offsetof(alineo_binding, headers_count), &alineo_auth_header_type},
    {9, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_binding, substitutions), offsetof(alineo_binding, substitutions_count), &alineo_substitution_type},
};
const alineo_type alineo_binding_type = {"Binding", sizeof(alineo_binding), alineo_binding_fields, 9};

static const alineo_field alineo_broker_list_reply_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_broker_list_reply, bindings), offsetof(alineo_broker_list_reply, bindings_count), &alineo_named_binding_type},
};
const alineo_type alineo_broker_list_reply_type = {"BrokerListReply", sizeof(alineo_broker_list_reply), alineo_broker_list_reply_fields, 1};

static const alineo_field alineo_broker_list_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_list_request, sandbox_id), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_list_request, egress), 0, 0},
};
const alineo_type alineo_broker_list_request_type = {"BrokerListRequest", sizeof(alineo_broker_list_request), alineo_broker_list_request_fields, 2};

static const alineo_field alineo_broker_patch_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_patch_request, sandbox_id), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_patch_request, name), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_patch_request, egress), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_patch_request, value), 0, 0},
    {5, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_patch_request, binding), 0, &alineo_binding_type},
};
const alineo_type alineo_broker_patch_request_type = {"BrokerPatchRequest", sizeof(alineo_broker_patch_request), alineo_broker_patch_request_fields, 5};

static const alineo_field alineo_broker_remove_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_remove_request, sandbox_id), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_remove_request, name), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_remove_request, egress), 0, 0},
};
const alineo_type alineo_broker_remove_request_type = {"BrokerRemoveRequest", sizeof(alineo_broker_remove_request), alineo_broker_remove_request_fields, 3};

static const alineo_field alineo_broker_resolve_reply_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_resolve_reply, value), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_resolve_reply, expires_ms), 0, 0},
};
const alineo_type alineo_broker_resolve_reply_type = {"BrokerResolveReply", sizeof(alineo_broker_resolve_reply), alineo_broker_resolve_reply_fields, 2};

static const alineo_field alineo_broker_resolve_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_resolve_request, sandbox_id), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_resolve_request, name), 0, 0},
    {3, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_resolve_request, source), 0, &alineo_source_type},
};
const alineo_type alineo_broker_resolve_request_type = {"BrokerResolveRequest", sizeof(alineo_broker_resolve_request), alineo_broker_resolve_request_fields, 3};

static const alineo_field alineo_broker_set_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_set_request, sandbox_id), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_set_request, name), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_set_request, egress), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_set_request, value), 0, 0},
    {5, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_broker_set_request, binding), 0, &alineo_binding_type},
};
const alineo_type alineo_broker_set_request_type = {"BrokerSetRequest", sizeof(alineo_broker_set_request), alineo_broker_set_request_fields, 5};

static const alineo_field alineo_configure_reply_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_configure_reply, diagnostics), offsetof(alineo_configure_reply, diagnostics_count), &alineo_diagnostic_type},
};
const alineo_type alineo_configure_reply_type = {"ConfigureReply", sizeof(alineo_configure_reply), alineo_configure_reply_fields, 1};

static const alineo_field alineo_configure_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_configure_request, config), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_configure_request, host_version), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_configure_request, features), offsetof(alineo_configure_request, features_count), 0},
};
const alineo_type alineo_configure_request_type = {"ConfigureRequest", sizeof(alineo_configure_request), alineo_configure_request_fields, 3};

static const alineo_field alineo_count_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_count, count), 0, 0},
};
const alineo_type alineo_count_type = {"Count", sizeof(alineo_count), alineo_count_fields, 1};

static const alineo_field alineo_delete_reply_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_delete_reply, rows), 0, 0},
    {2, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_delete_reply, more), 0, 0},
};
const alineo_type alineo_delete_reply_type = {"DeleteReply", sizeof(alineo_delete_reply), alineo_delete_reply_fields, 2};

static const alineo_field alineo_diagnostic_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_diagnostic, key), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_diagnostic, message), 0, 0},
};
const alineo_type alineo_diagnostic_type = {"Diagnostic", sizeof(alineo_diagnostic), alineo_diagnostic_fields, 2};

const alineo_type alineo_empty_type = {"Empty", sizeof(alineo_empty), 0, 0};

static const alineo_field alineo_environment_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_environment, name), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_environment, snapshot_id), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_environment, image), 0, 0},
    {4, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_environment, built_at), 0, 0},
};
const alineo_type alineo_environment_type = {"Environment", sizeof(alineo_environment), alineo_environment_fields, 4};

static const alineo_field alineo_environment_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_environment_request, name), 0, 0},
};
const alineo_type alineo_environment_request_type = {"EnvironmentRequest", sizeof(alineo_environment_request), alineo_environment_request_fields, 1};

static const alineo_field alineo_error_fields[] = {
    {1, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_error, code), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_error, message), 0, 0},
    {3, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_error, retryable), 0, 0},
    {4, ALINEO_KIND_MAP, ALINEO_LABEL_REPEATED, offsetof(alineo_error, details), offsetof(alineo_error, details_count), 0},
};
const alineo_type alineo_error_type = {"Error", sizeof(alineo_error), alineo_error_fields, 4};

static const alineo_field alineo_find_sandbox_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_find_sandbox_request, sandbox_id), 0, 0},
};
const alineo_type alineo_find_sandbox_request_type = {"FindSandboxRequest", sizeof(alineo_find_sandbox_request), alineo_find_sandbox_request_fields, 1};

static const alineo_field alineo_http_field_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_http_field, name), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_http_field, value), 0, 0},
};
const alineo_type alineo_http_field_type = {"HTTPField", sizeof(alineo_http_field), alineo_http_field_fields, 2};

static const alineo_field alineo_http_header_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_http_header, name), 0, 0},
    {2, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_http_header, value), offsetof(alineo_http_header, value_count), &alineo_http_part_type},
};
const alineo_type alineo_http_header_type = {"HTTPHeader", sizeof(alineo_http_header), alineo_http_header_fields, 2};

static const alineo_field alineo_http_part_fields[] = {
    {1, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_http_part, literal), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_http_part, secret), 0, 0},
    {3, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_http_part, encoding), 0, 0},
};
const alineo_type alineo_http_part_type = {"HTTPPart", sizeof(alineo_http_part), alineo_http_part_fields, 3};

static const alineo_field alineo_http_reply_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_http_reply, status), 0, 0},
    {2, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_http_reply, headers), offsetof(alineo_http_reply, headers_count), &alineo_http_field_type},
    {3, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_http_reply, body), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_REPEATED, offsetof(alineo_http_reply, secrets), offsetof(alineo_http_reply, secrets_count), 0},
};
const alineo_type alineo_http_reply_type = {"HTTPReply", sizeof(alineo_http_reply), alineo_http_reply_fields, 4};

static const alineo_field alineo_http_request_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_http_request, endpoint), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_http_request, url), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_http_request, method), 0, 0},
    {4, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_http_request, headers), offsetof(alineo_http_request, headers_count), &alineo_http_header_type},
    {5, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_http_request, body), offsetof(alineo_http_request, body_count), &alineo_http_part_type},
    {6, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_http_request, max_bytes), 0, 0},
    {7, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_http_request, timeout_ms), 0, 0},
    {8, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_http_request, extract), offsetof(alineo_http_request, extract_count), 0},
    {9, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_http_request, hide), offsetof(alineo_http_request, hide_count), 0},
};
const alineo_type alineo_http_request_type = {"HTTPRequest", sizeof(alineo_http_request), alineo_http_request_fields, 9};

static const alineo_field alineo_head_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_head, epoch), 0, 0},
    {2, ALINEO_KIND_SINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_head, last_step), 0, 0},
    {3, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_head, max_ts), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_head, entries), 0, 0},
    {5, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_head, hash), 0, 0},
    {6, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_head, segment_id), 0, 0},
};
const alineo_type alineo_head_type = {"Head", sizeof(alineo_head), alineo_head_fields, 6};

static const alineo_field alineo_health_reply_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_health_reply, message), 0, 0},
};
const alineo_type alineo_health_reply_type = {"HealthReply", sizeof(alineo_health_reply), alineo_health_reply_fields, 1};

static const alineo_field alineo_instance_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_instance, key), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_instance, provider), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_instance, provider_sandbox_id), 0, 0},
    {4, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_instance, latest_snapshot_id), offsetof(alineo_instance, has_latest_snapshot_id), 0},
    {5, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_instance, thread_id), 0, 0},
    {6, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_instance, latest_run_id), offsetof(alineo_instance, has_latest_run_id), 0},
    {7, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_instance, updated_at), 0, 0},
};
const alineo_type alineo_instance_type = {"Instance", sizeof(alineo_instance), alineo_instance_fields, 7};

static const alineo_field alineo_instance_delete_if_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_instance_delete_if, key), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_instance_delete_if, expected), 0, 0},
};
const alineo_type alineo_instance_delete_if_type = {"InstanceDeleteIf", sizeof(alineo_instance_delete_if), alineo_instance_delete_if_fields, 2};

static const alineo_field alineo_instance_list_request_fields[] = {
    {1, ALINEO_KIND_INT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_instance_list_request, updated_before), offsetof(alineo_instance_list_request, has_updated_before), 0},
    {2, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_instance_list_request, cursor), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_instance_list_request, limit), 0, 0},
};
const alineo_type alineo_instance_list_request_type = {"InstanceListRequest", sizeof(alineo_instance_list_request), alineo_instance_list_request_fields, 3};

static const alineo_field alineo_instance_put_if_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_instance_put_if, instance), 0, &alineo_instance_type},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_instance_put_if, expected), offsetof(alineo_instance_put_if, has_expected), 0},
};
const alineo_type alineo_instance_put_if_type = {"InstancePutIf", sizeof(alineo_instance_put_if), alineo_instance_put_if_fields, 2};

static const alineo_field alineo_key_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_key_request, key), 0, 0},
};
const alineo_type alineo_key_request_type = {"KeyRequest", sizeof(alineo_key_request), alineo_key_request_fields, 1};

static const alineo_field alineo_last_checkpoint_request_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_last_checkpoint_request, key), 0, &alineo_sandbox_key_type},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_last_checkpoint_request, tag), 0, 0},
};
const alineo_type alineo_last_checkpoint_request_type = {"LastCheckpointRequest", sizeof(alineo_last_checkpoint_request), alineo_last_checkpoint_request_fields, 2};

static const alineo_field alineo_lease_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_lease_request, key), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_lease_request, token), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_lease_request, ttl_ms), 0, 0},
};
const alineo_type alineo_lease_request_type = {"LeaseRequest", sizeof(alineo_lease_request), alineo_lease_request_fields, 3};

static const alineo_field alineo_ledger_append_reply_fields[] = {
    {1, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_append_reply, already), 0, 0},
};
const alineo_type alineo_ledger_append_reply_type = {"LedgerAppendReply", sizeof(alineo_ledger_append_reply), alineo_ledger_append_reply_fields, 1};

static const alineo_field alineo_ledger_append_request_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_append_request, entries), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_append_request, segments), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_append_request, entry_count), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_append_request, segment_count), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_append_request, size), 0, 0},
};
const alineo_type alineo_ledger_append_request_type = {"LedgerAppendRequest", sizeof(alineo_ledger_append_request), alineo_ledger_append_request_fields, 5};

static const alineo_field alineo_ledger_open_request_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_open_request, key), 0, &alineo_sandbox_key_type},
};
const alineo_type alineo_ledger_open_request_type = {"LedgerOpenRequest", sizeof(alineo_ledger_open_request), alineo_ledger_open_request_fields, 1};

static const alineo_field alineo_ledger_read_request_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_read_request, key), 0, &alineo_sandbox_key_type},
    {2, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_read_request, cursor), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_read_request, limit), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_read_request, max_bytes), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_ledger_read_request, last), 0, 0},
};
const alineo_type alineo_ledger_read_request_type = {"LedgerReadRequest", sizeof(alineo_ledger_read_request), alineo_ledger_read_request_fields, 5};

static const alineo_field alineo_list_sandboxes_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_list_sandboxes_request, name), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_list_sandboxes_request, status), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_list_sandboxes_request, limit), offsetof(alineo_list_sandboxes_request, has_limit), 0},
    {4, ALINEO_KIND_INT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_list_sandboxes_request, before), offsetof(alineo_list_sandboxes_request, has_before), 0},
    {5, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_list_sandboxes_request, run_id), 0, 0},
    {6, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_list_sandboxes_request, resource_id), 0, 0},
    {7, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_list_sandboxes_request, team_id), 0, 0},
    {8, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_list_sandboxes_request, cursor), 0, 0},
    {9, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_list_sandboxes_request, id_prefix), 0, 0},
};
const alineo_type alineo_list_sandboxes_request_type = {"ListSandboxesRequest", sizeof(alineo_list_sandboxes_request), alineo_list_sandboxes_request_fields, 9};

static const alineo_field alineo_lock_reply_fields[] = {
    {1, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_reply, acquired), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_reply, token), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_reply, fence), 0, 0},
    {4, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_reply, owner), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_reply, left_ms), 0, 0},
    {6, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_reply, now), 0, 0},
};
const alineo_type alineo_lock_reply_type = {"LockReply", sizeof(alineo_lock_reply), alineo_lock_reply_fields, 6};

static const alineo_field alineo_lock_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_request, key), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_request, owner), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_lock_request, ttl_ms), 0, 0},
};
const alineo_type alineo_lock_request_type = {"LockRequest", sizeof(alineo_lock_request), alineo_lock_request_fields, 3};

static const alineo_field alineo_log_append_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_log_append_request, run_id), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_append_request, epoch), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_log_append_request, after), offsetof(alineo_log_append_request, has_after), 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_append_request, events), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_append_request, count), 0, 0},
    {6, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_append_request, size), 0, 0},
};
const alineo_type alineo_log_append_request_type = {"LogAppendRequest", sizeof(alineo_log_append_request), alineo_log_append_request_fields, 6};

static const alineo_field alineo_log_page_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_page, rows), 0, 0},
    {2, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_log_page, table), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_page, tail), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_page, dropped), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_page, epoch), 0, 0},
    {6, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_log_page, closed), 0, 0},
    {7, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_log_page, more), 0, 0},
};
const alineo_type alineo_log_page_type = {"LogPage", sizeof(alineo_log_page), alineo_log_page_fields, 7};

static const alineo_field alineo_log_read_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_log_read_request, run_id), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_read_request, after), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_read_request, limit), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_read_request, max_bytes), 0, 0},
};
const alineo_type alineo_log_read_request_type = {"LogReadRequest", sizeof(alineo_log_read_request), alineo_log_read_request_fields, 4};

static const alineo_field alineo_log_tail_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_log_tail, tail), 0, 0},
};
const alineo_type alineo_log_tail_type = {"LogTail", sizeof(alineo_log_tail), alineo_log_tail_fields, 1};

static const alineo_field alineo_manifest_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_manifest, name), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_manifest, version), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_manifest, kinds), offsetof(alineo_manifest, kinds_count), 0},
    {4, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_manifest, optional), offsetof(alineo_manifest, optional_count), 0},
    {5, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_manifest, capabilities), offsetof(alineo_manifest, capabilities_count), &alineo_want_type},
    {6, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_manifest, config_schema), 0, 0},
    {7, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_manifest, state), 0, 0},
};
const alineo_type alineo_manifest_type = {"Manifest", sizeof(alineo_manifest), alineo_manifest_fields, 7};

static const alineo_field alineo_named_binding_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_named_binding, name), 0, 0},
    {2, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_named_binding, binding), 0, &alineo_binding_type},
    {3, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_named_binding, partial), 0, 0},
};
const alineo_type alineo_named_binding_type = {"NamedBinding", sizeof(alineo_named_binding), alineo_named_binding_fields, 3};

static const alineo_field alineo_page_request_fields[] = {
    {1, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_page_request, cursor), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_page_request, limit), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_page_request, max_bytes), 0, 0},
};
const alineo_type alineo_page_request_type = {"PageRequest", sizeof(alineo_page_request), alineo_page_request_fields, 3};

static const alineo_field alineo_reclaim_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_reclaim_request, status), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_reclaim_request, ttl_ms), 0, 0},
    {3, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_reclaim_request, now), 0, 0},
    {4, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_reclaim_request, cursor), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_reclaim_request, limit), 0, 0},
};
const alineo_type alineo_reclaim_request_type = {"ReclaimRequest", sizeof(alineo_reclaim_request), alineo_reclaim_request_fields, 5};

static const alineo_field alineo_request_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_request, call_id), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_request, deadline_ms), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_request, traceparent), 0, 0},
    {4, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_request, body), 0, 0},
};
const alineo_type alineo_request_type = {"Request", sizeof(alineo_request), alineo_request_fields, 4};

static const alineo_field alineo_rows_reply_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_rows_reply, rows), 0, 0},
    {2, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_rows_reply, table), 0, 0},
    {3, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_rows_reply, cursor), 0, 0},
    {4, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_rows_reply, more), 0, 0},
    {5, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_rows_reply, now), 0, 0},
};
const alineo_type alineo_rows_reply_type = {"RowsReply", sizeof(alineo_rows_reply), alineo_rows_reply_fields, 5};

static const alineo_field alineo_run_create_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_run_create, run_id), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_run_create, thread_id), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_run_create, status), 0, 0},
    {4, ALINEO_KIND_INT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_create, started_at), offsetof(alineo_run_create, has_started_at), 0},
    {5, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_create, sandbox_key), offsetof(alineo_run_create, has_sandbox_key), 0},
    {6, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_run_create, secret), 0, 0},
};
const alineo_type alineo_run_create_type = {"RunCreate", sizeof(alineo_run_create), alineo_run_create_fields, 6};

static const alineo_field alineo_run_list_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_run_list_request, thread_id), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_run_list_request, status), 0, 0},
    {3, ALINEO_KIND_INT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_list_request, finished_before), offsetof(alineo_run_list_request, has_finished_before), 0},
    {4, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_run_list_request, cursor), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_run_list_request, limit), 0, 0},
};
const alineo_type alineo_run_list_request_type = {"RunListRequest", sizeof(alineo_run_list_request), alineo_run_list_request_fields, 5};

static const alineo_field alineo_run_patch_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_run_patch, run_id), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, epoch), offsetof(alineo_run_patch, has_epoch), 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, status), offsetof(alineo_run_patch, has_status), 0},
    {4, ALINEO_KIND_INT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, finished_at), offsetof(alineo_run_patch, has_finished_at), 0},
    {5, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, error_message), offsetof(alineo_run_patch, has_error_message), 0},
    {6, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, error_code), offsetof(alineo_run_patch, has_error_code), 0},
    {7, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_run_patch, usage), 0, 0},
    {8, ALINEO_KIND_STRING, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, sandbox_key), offsetof(alineo_run_patch, has_sandbox_key), 0},
    {9, ALINEO_KIND_INT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, detached_since), offsetof(alineo_run_patch, has_detached_since), 0},
    {10, ALINEO_KIND_BOOL, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, cancel_requested), offsetof(alineo_run_patch, has_cancel_requested), 0},
    {11, ALINEO_KIND_UINT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_run_patch, driver_epoch), offsetof(alineo_run_patch, has_driver_epoch), 0},
    {12, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_run_patch, clear), offsetof(alineo_run_patch, clear_count), 0},
    {13, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_run_patch, now), offsetof(alineo_run_patch, now_count), 0},
};
const alineo_type alineo_run_patch_type = {"RunPatch", sizeof(alineo_run_patch), alineo_run_patch_fields, 13};

static const alineo_field alineo_run_reply_fields[] = {
    {1, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_run_reply, outcome), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_run_reply, rows), 0, 0},
    {3, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_run_reply, table), 0, 0},
};
const alineo_type alineo_run_reply_type = {"RunReply", sizeof(alineo_run_reply), alineo_run_reply_fields, 3};

static const alineo_field alineo_run_secret_fields[] = {
    {1, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_run_secret, secret), 0, 0},
};
const alineo_type alineo_run_secret_type = {"RunSecret", sizeof(alineo_run_secret), alineo_run_secret_fields, 1};

static const alineo_field alineo_sql_exec_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_exec, database), 0, 0},
    {2, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_exec, read_only), 0, 0},
    {3, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_sql_exec, steps), offsetof(alineo_sql_exec, steps_count), &alineo_sql_step_type},
};
const alineo_type alineo_sql_exec_type = {"SQLExec", sizeof(alineo_sql_exec), alineo_sql_exec_fields, 3};

static const alineo_field alineo_sql_exec_reply_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_sql_exec_reply, steps), offsetof(alineo_sql_exec_reply, steps_count), &alineo_sql_step_result_type},
};
const alineo_type alineo_sql_exec_reply_type = {"SQLExecReply", sizeof(alineo_sql_exec_reply), alineo_sql_exec_reply_fields, 1};

static const alineo_field alineo_sql_param_fields[] = {
    {1, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_param, kind), 0, 0},
    {2, ALINEO_KIND_VALUE, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_param, value), 0, 0},
    {3, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_param, column), 0, 0},
    {4, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_param, step), 0, 0},
};
const alineo_type alineo_sql_param_type = {"SQLParam", sizeof(alineo_sql_param), alineo_sql_param_fields, 4};

static const alineo_field alineo_sql_step_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, sql), 0, 0},
    {2, ALINEO_KIND_MESSAGE, ALINEO_LABEL_REPEATED, offsetof(alineo_sql_step, params), offsetof(alineo_sql_step, params_count), &alineo_sql_param_type},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, batch), 0, 0},
    {4, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, many_sql), 0, 0},
    {5, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, many_rows), 0, 0},
    {6, ALINEO_KIND_UINT64, ALINEO_LABEL_OPTIONAL, offsetof(alineo_sql_step, expect), offsetof(alineo_sql_step, has_expect), 0},
    {7, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, mismatch_code), 0, 0},
    {8, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, mismatch_message), 0, 0},
    {9, ALINEO_KIND_UINT32, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, result), 0, 0},
    {10, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, max_rows), 0, 0},
    {11, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step, max_bytes), 0, 0},
};
const alineo_type alineo_sql_step_type = {"SQLStep", sizeof(alineo_sql_step), alineo_sql_step_fields, 11};

static const alineo_field alineo_sql_step_result_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step_result, affected), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step_result, row_count), 0, 0},
    {3, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step_result, rows), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step_result, handle), 0, 0},
    {5, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step_result, last), 0, 0},
    {6, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_sql_step_result, more), 0, 0},
};
const alineo_type alineo_sql_step_result_type = {"SQLStepResult", sizeof(alineo_sql_step_result), alineo_sql_step_result_fields, 6};

static const alineo_field alineo_sandbox_count_request_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_count_request, sandbox_key), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_count_request, except), 0, 0},
};
const alineo_type alineo_sandbox_count_request_type = {"SandboxCountRequest", sizeof(alineo_sandbox_count_request), alineo_sandbox_count_request_fields, 2};

static const alineo_field alineo_sandbox_key_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_key, name), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_key, sandbox_id), 0, 0},
};
const alineo_type alineo_sandbox_key_type = {"SandboxKey", sizeof(alineo_sandbox_key), alineo_sandbox_key_fields, 2};

static const alineo_field alineo_sandbox_page_request_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_page_request, key), 0, &alineo_sandbox_key_type},
    {2, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_page_request, cursor), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_page_request, limit), 0, 0},
    {4, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_page_request, max_bytes), 0, 0},
};
const alineo_type alineo_sandbox_page_request_type = {"SandboxPageRequest", sizeof(alineo_sandbox_page_request), alineo_sandbox_page_request_fields, 4};

static const alineo_field alineo_sandbox_request_fields[] = {
    {1, ALINEO_KIND_MESSAGE, ALINEO_LABEL_SINGLE, offsetof(alineo_sandbox_request, key), 0, &alineo_sandbox_key_type},
};
const alineo_type alineo_sandbox_request_type = {"SandboxRequest", sizeof(alineo_sandbox_request), alineo_sandbox_request_fields, 1};

static const alineo_field alineo_secret_get_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_get, name), 0, 0},
    {2, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_get, kept), 0, 0},
};
const alineo_type alineo_secret_get_type = {"SecretGet", sizeof(alineo_secret_get), alineo_secret_get_fields, 2};

static const alineo_field alineo_secret_keep_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_keep, name), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_keep, secret), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_keep, ttl_ms), 0, 0},
    {4, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_keep, note), 0, 0},
};
const alineo_type alineo_secret_keep_type = {"SecretKeep", sizeof(alineo_secret_keep), alineo_secret_keep_fields, 4};

static const alineo_field alineo_secret_reply_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_reply, secret), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_reply, version), 0, 0},
    {3, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_reply, expires_ms), 0, 0},
    {4, ALINEO_KIND_BYTES, ALINEO_LABEL_SINGLE, offsetof(alineo_secret_reply, note), 0, 0},
};
const alineo_type alineo_secret_reply_type = {"SecretReply", sizeof(alineo_secret_reply), alineo_secret_reply_fields, 4};

static const alineo_field alineo_source_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_source, type), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_source, var_name), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_source, ref), 0, 0},
};
const alineo_type alineo_source_type = {"Source", sizeof(alineo_source), alineo_source_fields, 3};

static const alineo_field alineo_stats_fields[] = {
    {1, ALINEO_KIND_SINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_stats, entries), 0, 0},
    {2, ALINEO_KIND_SINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_stats, storage_bytes), 0, 0},
    {3, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_stats, schema_version), 0, 0},
};
const alineo_type alineo_stats_type = {"Stats", sizeof(alineo_stats), alineo_stats_fields, 3};

static const alineo_field alineo_substitution_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_substitution, placeholder), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_REPEATED, offsetof(alineo_substitution, in), offsetof(alineo_substitution, in_count), 0},
};
const alineo_type alineo_substitution_type = {"Substitution", sizeof(alineo_substitution), alineo_substitution_fields, 2};

static const alineo_field alineo_usage_fields[] = {
    {1, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_usage, entries), 0, 0},
    {2, ALINEO_KIND_UINT64, ALINEO_LABEL_SINGLE, offsetof(alineo_usage, bytes), 0, 0},
    {3, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_usage, first_ts), 0, 0},
    {4, ALINEO_KIND_INT64, ALINEO_LABEL_SINGLE, offsetof(alineo_usage, last_ts), 0, 0},
    {5, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_usage, created), 0, 0},
    {6, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_usage, closed), 0, 0},
};
const alineo_type alineo_usage_type = {"Usage", sizeof(alineo_usage), alineo_usage_fields, 6};

static const alineo_field alineo_want_fields[] = {
    {1, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_want, name), 0, 0},
    {2, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_want, resource), 0, 0},
    {3, ALINEO_KIND_STRING, ALINEO_LABEL_SINGLE, offsetof(alineo_want, reason), 0, 0},
    {4, ALINEO_KIND_BOOL, ALINEO_LABEL_SINGLE, offsetof(alineo_want, optional), 0, 0},
};
const alineo_type alineo_want_type = {"Want", sizeof(alineo_want), alineo_want_fields, 4};

const alineo_type *const alineo_types[] = {
    &alineo_applied_type,
    &alineo_auth_header_type,
    &alineo_batch_bytes_type,
    &alineo_batch_cell_type,
    &alineo_batch_read_type,
    &alineo_batch_rows_type,
    &alineo_binding_type,
    &alineo_broker_list_reply_type,
    &alineo_broker_list_request_type,
    &alineo_broker_patch_request_type,
    &alineo_broker_remove_request_type,
    &alineo_broker_resolve_reply_type,
    &alineo_broker_resolve_request_type,
    &alineo_broker_set_request_type,
    &alineo_configure_reply_type,
    &alineo_configure_request_type,
    &alineo_count_type,
    &alineo_delete_reply_type,
    &alineo_diagnostic_type,
    &alineo_empty_type,
    &alineo_environment_type,
    &alineo_environment_request_type,
    &alineo_error_type,
    &alineo_find_sandbox_request_type,
    &alineo_http_field_type,
    &alineo_http_header_type,
    &alineo_http_part_type,
    &alineo_http_reply_type,
    &alineo_http_request_type,
    &alineo_head_type,
    &alineo_health_reply_type,
    &alineo_instance_type,
    &alineo_instance_delete_if_type,
    &alineo_instance_list_request_type,
    &alineo_instance_put_if_type,
    &alineo_key_request_type,
    &alineo_last_checkpoint_request_type,
    &alineo_lease_request_type,
    &alineo_ledger_append_reply_type,
    &alineo_ledger_append_request_type,
    &alineo_ledger_open_request_type,
    &alineo_ledger_read_request_type,
    &alineo_list_sandboxes_request_type,
    &alineo_lock_reply_type,
    &alineo_lock_request_type,
    &alineo_log_append_request_type,
    &alineo_log_page_type,
    &alineo_log_read_request_type,
    &alineo_log_tail_type,
    &alineo_manifest_type,
    &alineo_named_binding_type,
    &alineo_page_request_type,
    &alineo_reclaim_request_type,
    &alineo_request_type,
    &alineo_rows_reply_type,
    &alineo_run_create_type,
    &alineo_run_list_request_type,
    &alineo_run_patch_type,
    &alineo_run_reply_type,
    &alineo_run_secret_type,
    &alineo_sql_exec_type,
    &alineo_sql_exec_reply_type,
    &alineo_sql_param_type,
    &alineo_sql_step_type,
    &alineo_sql_step_result_type,
    &alineo_sandbox_count_request_type,
    &alineo_sandbox_key_type,
    &alineo_sandbox_page_request_type,
    &alineo_sandbox_request_type,
    &alineo_secret_get_type,
    &alineo_secret_keep_type,
    &alineo_secret_reply_type,
    &alineo_source_type,
    &alineo_stats_type,
    &alineo_substitution_type,
    &alineo_usage_type,
    &alineo_want_type,
    0,
};

const alineo_operation alineo_operations[] = {
    {0x02, "configure", &alineo_configure_request_type, &alineo_configure_reply_type, offsetof(alineo_plugin, configure)},
    {0x03, "close", &alineo_empty_type, &alineo_empty_type, offsetof(alineo_plugin, close)},
    {0x04, "health", &alineo_empty_type, &alineo_health_reply_type, offsetof(alineo_plugin, health)},
    {0x10, "ledger.open", &alineo_ledger_open_request_type, &alineo_head_type, offsetof(alineo_plugin, ledger_open)},
    {0x11, "ledger.append", &alineo_ledger_append_request_type, &alineo_ledger_append_reply_type, offsetof(alineo_plugin, ledger_append)},
    {0x12, "ledger.read", &alineo_ledger_read_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_read)},
    {0x13, "ledger.last_checkpoint", &alineo_last_checkpoint_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_last_checkpoint)},
    {0x14, "ledger.list_checkpoints", &alineo_sandbox_page_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_list_checkpoints)},
    {0x15, "ledger.list_sandboxes", &alineo_list_sandboxes_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_list_sandboxes)},
    {0x16, "ledger.get_sandbox", &alineo_sandbox_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_get_sandbox)},
    {0x17, "ledger.find_sandbox", &alineo_find_sandbox_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_find_sandbox)},
    {0x18, "ledger.delete_sandbox", &alineo_sandbox_request_type, &alineo_delete_reply_type, offsetof(alineo_plugin, ledger_delete_sandbox)},
    {0x19, "ledger.list_heads", &alineo_page_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_list_heads)},
    {0x1a, "ledger.list_segments", &alineo_sandbox_page_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_list_segments)},
    {0x1b, "ledger.list_tombstones", &alineo_page_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, ledger_list_tombstones)},
    {0x1c, "ledger.usage", &alineo_sandbox_request_type, &alineo_usage_type, offsetof(alineo_plugin, ledger_usage)},
    {0x1d, "ledger.stats", &alineo_empty_type, &alineo_stats_type, offsetof(alineo_plugin, ledger_stats)},
    {0x20, "environment.get", &alineo_environment_request_type, &alineo_environment_type, offsetof(alineo_plugin, environment_get)},
    {0x21, "environment.save", &alineo_environment_type, &alineo_empty_type, offsetof(alineo_plugin, environment_save)},
    {0x22, "environment.delete", &alineo_environment_request_type, &alineo_empty_type, offsetof(alineo_plugin, environment_delete)},
    {0x23, "environment.list", &alineo_empty_type, &alineo_rows_reply_type, offsetof(alineo_plugin, environment_list)},
    {0x30, "instances.get", &alineo_key_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, instances_get)},
    {0x31, "instances.put", &alineo_instance_type, &alineo_empty_type, offsetof(alineo_plugin, instances_put)},
    {0x32, "instances.delete", &alineo_key_request_type, &alineo_empty_type, offsetof(alineo_plugin, instances_delete)},
    {0x33, "instances.put_if", &alineo_instance_put_if_type, &alineo_applied_type, offsetof(alineo_plugin, instances_put_if)},
    {0x34, "instances.delete_if", &alineo_instance_delete_if_type, &alineo_applied_type, offsetof(alineo_plugin, instances_delete_if)},
    {0x35, "instances.list", &alineo_instance_list_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, instances_list)},
    {0x40, "runs.create_or_get", &alineo_run_create_type, &alineo_run_reply_type, offsetof(alineo_plugin, runs_create_or_get)},
    {0x41, "runs.patch", &alineo_run_patch_type, &alineo_run_reply_type, offsetof(alineo_plugin, runs_patch)},
    {0x42, "runs.get", &alineo_key_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, runs_get)},
    {0x43, "runs.find_active", &alineo_key_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, runs_find_active)},
    {0x44, "runs.patch_if", &alineo_run_patch_type, &alineo_run_reply_type, offsetof(alineo_plugin, runs_patch_if)},
    {0x45, "runs.claim", &alineo_key_request_type, &alineo_run_reply_type, offsetof(alineo_plugin, runs_claim)},
    {0x46, "runs.list_by_thread", &alineo_run_list_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, runs_list_by_thread)},
    {0x47, "runs.list", &alineo_run_list_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, runs_list)},
    {0x48, "runs.list_reclaimable", &alineo_reclaim_request_type, &alineo_rows_reply_type, offsetof(alineo_plugin, runs_list_reclaimable)},
    {0x49, "runs.count_by_sandbox", &alineo_sandbox_count_request_type, &alineo_count_type, offsetof(alineo_plugin, runs_count_by_sandbox)},
    {0x4a, "runs.secret", &alineo_key_request_type, &alineo_run_secret_type, offsetof(alineo_plugin, runs_secret)},
    {0x4b, "runs.delete", &alineo_key_request_type, &alineo_run_reply_type, offsetof(alineo_plugin, runs_delete)},
    {0x50, "log.append", &alineo_log_append_request_type, &alineo_log_tail_type, offsetof(alineo_plugin, log_append)},
    {0x51, "log.read", &alineo_log_read_request_type, &alineo_log_page_type, offsetof(alineo_plugin, log_read)},
    {0x52, "log.close", &alineo_key_request_type, &alineo_empty_type, offsetof(alineo_plugin, log_close)},
    {0x53, "log.truncate", &alineo_key_request_type, &alineo_delete_reply_type, offsetof(alineo_plugin, log_truncate)},
    {0x60, "locks.try_acquire", &alineo_lock_request_type, &alineo_lock_reply_type, offsetof(alineo_plugin, locks_try_acquire)},
    {0x61, "locks.renew", &alineo_lease_request_type, &alineo_applied_type, offsetof(alineo_plugin, locks_renew)},
    {0x62, "locks.release", &alineo_lease_request_type, &alineo_applied_type, offsetof(alineo_plugin, locks_release)},
    {0x70, "broker.set", &alineo_broker_set_request_type, &alineo_empty_type, offsetof(alineo_plugin, broker_set)},
    {0x71, "broker.patch", &alineo_broker_patch_request_type, &alineo_empty_type, offsetof(alineo_plugin, broker_patch)},
    {0x72, "broker.remove", &alineo_broker_remove_request_type, &alineo_empty_type, offsetof(alineo_plugin, broker_remove)},
    {0x73, "broker.list_bindings", &alineo_broker_list_request_type, &alineo_broker_list_reply_type, offsetof(alineo_plugin, broker_list_bindings)},
    {0x74, "broker.resolve", &alineo_broker_resolve_request_type, &alineo_broker_resolve_reply_type, offsetof(alineo_plugin, broker_resolve)},
    {0, 0, 0, 0, 0},
};
