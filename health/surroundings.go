// SPDX-License-Identifier: Apache-2.0

package health

// Surroundings are asked for what an object alone does not tell, and only where it counts:
// nothing need be read for an object that is well, or that a rule decides on. A function that
// is nil, or gives nothing, does not know. The zero value knows nothing.
type Surroundings struct {
	// VolumeBindingMode gives that of a storage class, for a PersistentVolumeClaim.
	VolumeBindingMode func(class string) string
	// Warning gives what events say of why the object's pods cannot be made. It is asked for
	// objects that lack pods and are of a kind that does not say so itself.
	Warning func() string
}

// Values of VolumeBindingMode.
const (
	bindsImmediately      = "Immediate"
	waitsForFirstConsumer = "WaitForFirstConsumer"
)

// bindingMode is the mode of a class. Without a class, claims wait for volumes without one.
func (s Surroundings) bindingMode(class string) string {
	if s.VolumeBindingMode == nil || class == "" {
		return ""
	}
	return s.VolumeBindingMode(class)
}

// lack is why pods of the object cannot be made, to be put behind what it waits for.
func (s Surroundings) lack() string {
	if s.Warning == nil {
		return ""
	}
	if warning := s.Warning(); warning != "" {
		return "; " + warning
	}
	return ""
}
