// SPDX-License-Identifier: Apache-2.0

package health

// Surroundings are asked for what an object alone does not tell, and only where it counts:
// nothing need be read for an object that is well, or that a rule decides on. A function that
// is nil, or gives nothing, does not know. The zero value knows nothing.
type Surroundings struct {
	// VolumeBindingMode gives that of a storage class, for a PersistentVolumeClaim, or why it is not known.
	VolumeBindingMode func(class string) (mode string, err error)
	// Warning gives what events say of why the object's pods, or a claim's volume, cannot be made. It is
	// asked for objects that lack them and are of a kind that does not say so itself.
	Warning func() string
}

// Values of VolumeBindingMode.
const (
	bindsImmediately      = "Immediate"
	waitsForFirstConsumer = "WaitForFirstConsumer"
)

// bindingMode is the mode of a class, or why it is not known, to be put behind what is waited for. Without
// a class, claims wait for volumes without one.
func (s Surroundings) bindingMode(class string) (mode, unknown string) {
	if s.VolumeBindingMode == nil || class == "" {
		return "", ""
	}
	mode, err := s.VolumeBindingMode(class)
	if err != nil {
		return "", "; its storage class cannot be read: " + err.Error()
	}
	return mode, ""
}

// lack is why what the object lacks cannot be made, to be put behind what it waits for.
func (s Surroundings) lack() string {
	if s.Warning == nil {
		return ""
	}
	if warning := s.Warning(); warning != "" {
		return "; " + warning
	}
	return ""
}
