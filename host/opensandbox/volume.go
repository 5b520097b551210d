package opensandbox

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Volume is storage that a sandbox mounts. Exactly one of Host, PVC and OSSFS says what.
type Volume struct {
	Name      string       `json:"name"` // a DNS label, of its own in the list
	Host      *HostVolume  `json:"host,omitempty"`
	PVC       *PVCVolume   `json:"pvc,omitempty"`
	OSSFS     *OSSFSVolume `json:"ossfs,omitempty"`
	MountPath string       `json:"mountPath"` // absolute
	ReadOnly  bool         `json:"readOnly,omitempty"`
	SubPath   string       `json:"subPath,omitempty"` // relative, below the volume's root
}

// HostVolume is a folder of the machine that the sandbox runs on. Servers refuse those that their
// configuration does not allow, and an empty one allows none.
type HostVolume struct {
	Path string `json:"path"`
}

// PVCVolume is a named volume: a Docker volume or a Kubernetes claim.
type PVCVolume struct {
	ClaimName string `json:"claimName"`
	// CreateIfNotExists is what servers do when it is nil.
	CreateIfNotExists          *bool    `json:"createIfNotExists,omitempty"`
	DeleteOnSandboxTermination bool     `json:"deleteOnSandboxTermination,omitempty"`
	StorageClass               string   `json:"storageClass,omitempty"`
	Storage                    string   `json:"storage,omitempty"` // such as 10Gi
	AccessModes                []string `json:"accessModes,omitempty"`
}

// OSSFSVolume is an object store's bucket.
type OSSFSVolume struct {
	Bucket          string         `json:"bucket"`
	Endpoint        string         `json:"endpoint"`
	Version         string         `json:"version,omitempty"` // 1.0 or 2.0; 2.0 when empty
	Options         map[string]any `json:"options,omitempty"`
	AccessKeyID     string         `json:"accessKeyId"`
	AccessKeySecret string         `json:"accessKeySecret"`
}

// String names the bucket, and no key.
func (v OSSFSVolume) String() string { return "ossfs " + v.Bucket }

// GoString is String, for %#v.
func (v OSSFSVolume) GoString() string { return v.String() }

func checkVolumes(volumes []Volume) error {
	var problems []error
	names := make(map[string]struct{}, len(volumes))
	for i := range volumes {
		v := &volumes[i]
		if _, twice := names[v.Name]; twice {
			problems = append(problems, fmt.Errorf("volume %q: another one has the same name", v.Name))
		}
		names[v.Name] = struct{}{}
		for _, problem := range v.problems() {
			problems = append(problems, fmt.Errorf("volume %q: %s", v.Name, problem))
		}
	}
	return errors.Join(problems...)
}

func (v *Volume) problems() []string {
	var found []string
	if len(v.Name) > maxLabelName || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(v.Name) {
		found = append(found, "the name must be lower-case letters, digits and -, at most 63")
	}
	kinds := 0
	for _, is := range []bool{v.Host != nil, v.PVC != nil, v.OSSFS != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		found = append(found, "want exactly one of host, pvc and ossfs")
	}
	if !strings.HasPrefix(v.MountPath, "/") {
		found = append(found, fmt.Sprintf("the mount path %q is not absolute", v.MountPath))
	}
	if strings.HasPrefix(v.SubPath, "/") || slices.Contains(strings.Split(v.SubPath, "/"), "..") {
		found = append(found, fmt.Sprintf("the sub path %q must be relative and stay inside", v.SubPath))
	}
	if v.Host != nil && (!regexp.MustCompile(`^(/|[A-Za-z]:[\\/])`).MatchString(v.Host.Path) || slices.Contains(strings.Split(v.Host.Path, "/"), "..")) {
		found = append(found, fmt.Sprintf("the host path %q must be absolute and have no ..", v.Host.Path))
	}
	if v.PVC != nil && (v.PVC.ClaimName == "" || len(v.PVC.ClaimName) > maxLabelPrefix) {
		found = append(found, "the claim's name must have 1 to 253 characters")
	}
	if o := v.OSSFS; o != nil && (o.Bucket == "" || o.Endpoint == "" || o.AccessKeyID == "" || o.AccessKeySecret == "") {
		found = append(found, "a bucket needs its name, endpoint, key id and key secret")
	}
	return found
}
