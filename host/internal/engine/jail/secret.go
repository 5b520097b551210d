package jail

import "slices"

import "strings"

// IsSecret tells whether a file of the host's belongs to the machine and not
// into a sandbox, whatever its permissions say.
func IsSecret(path string) bool {
	if slices.Contains([]string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd",
		"/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/wireguard", "/etc/openvpn",
		"/etc/sudoers", "/etc/sudoers.d", "/etc/krb5.keytab", "/etc/fstab", "/etc/crypttab",
		"/etc/machine-id", "/etc/docker", "/etc/kubernetes", "/etc/rancher", "/etc/NetworkManager/system-connections",
		"/etc/netplan", "/etc/ppp", "/etc/ipsec.secrets", "/etc/ipsec.d",
	}, path) {
		return true
	}
	return strings.HasPrefix(path, "/etc/") &&
		(strings.HasPrefix(path, "/etc/ssh/ssh_host_") || strings.HasSuffix(path, ".keytab") || strings.HasSuffix(path, ".key"))
}
