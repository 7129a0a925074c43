// Package config is server.properties: every key of Kafka 2.8 with type, default,
// range and meaning, and the keys a topic may override. Mirrors KafkaConfig and the
// definitions in LogConfig.
//
// What comes in: a Java properties file (ReadProperties) and the overrides of the
// command line. What goes out: a Config whose parts are the configs of the rooms
// (Network, Logs, Replica …), ready to hand over; warnings; or Faults, which name every
// fault at once. Nobody runs it: it is pure, but for reading the file.
//
// The tables keys_*.go are the place to look a key up. Each row also says what kz does
// with the key (Serving). The one rule: no key is dropped in silence. Either kz serves
// it, or it can have no effect by design, or it is named in a warning, or it is
// refused, because ignoring it would break what the operator relies on: that a
// listener is encrypted, that a policy holds, that a protocol level is spoken.
package config
