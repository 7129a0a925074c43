// Package kafkaerr holds Kafka's error codes and the Error that carries one from
// the place where a rule is broken to the one place that answers.
//
// Mirrors org.apache.kafka.common.protocol.Errors. It imports nothing of ours.
package kafkaerr

// A Code is what a client sees of a failure: the number on the wire. A Code is
// itself an error, so errors.Is(err, kafkaerr.NotLeaderOrFollower) works through
// any wrapping.
type Code int16

// The codes of Kafka 2.8.
const (
	UnknownServerError                 Code = -1  // UNKNOWN_SERVER_ERROR
	None                               Code = 0   // NONE
	OffsetOutOfRange                   Code = 1   // OFFSET_OUT_OF_RANGE
	CorruptMessage                     Code = 2   // CORRUPT_MESSAGE
	UnknownTopicOrPartition            Code = 3   // UNKNOWN_TOPIC_OR_PARTITION
	InvalidFetchSize                   Code = 4   // INVALID_FETCH_SIZE
	LeaderNotAvailable                 Code = 5   // LEADER_NOT_AVAILABLE
	NotLeaderOrFollower                Code = 6   // NOT_LEADER_OR_FOLLOWER
	RequestTimedOut                    Code = 7   // REQUEST_TIMED_OUT
	BrokerNotAvailable                 Code = 8   // BROKER_NOT_AVAILABLE
	ReplicaNotAvailable                Code = 9   // REPLICA_NOT_AVAILABLE
	MessageTooLarge                    Code = 10  // MESSAGE_TOO_LARGE
	StaleControllerEpoch               Code = 11  // STALE_CONTROLLER_EPOCH
	OffsetMetadataTooLarge             Code = 12  // OFFSET_METADATA_TOO_LARGE
	NetworkException                   Code = 13  // NETWORK_EXCEPTION
	CoordinatorLoadInProgress          Code = 14  // COORDINATOR_LOAD_IN_PROGRESS
	CoordinatorNotAvailable            Code = 15  // COORDINATOR_NOT_AVAILABLE
	NotCoordinator                     Code = 16  // NOT_COORDINATOR
	InvalidTopicException              Code = 17  // INVALID_TOPIC_EXCEPTION
	RecordListTooLarge                 Code = 18  // RECORD_LIST_TOO_LARGE
	NotEnoughReplicas                  Code = 19  // NOT_ENOUGH_REPLICAS
	NotEnoughReplicasAfterAppend       Code = 20  // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	InvalidRequiredAcks                Code = 21  // INVALID_REQUIRED_ACKS
	IllegalGeneration                  Code = 22  // ILLEGAL_GENERATION
	InconsistentGroupProtocol          Code = 23  // INCONSISTENT_GROUP_PROTOCOL
	InvalidGroupID                     Code = 24  // INVALID_GROUP_ID
	UnknownMemberID                    Code = 25  // UNKNOWN_MEMBER_ID
	InvalidSessionTimeout              Code = 26  // INVALID_SESSION_TIMEOUT
	RebalanceInProgress                Code = 27  // REBALANCE_IN_PROGRESS
	InvalidCommitOffsetSize            Code = 28  // INVALID_COMMIT_OFFSET_SIZE
	TopicAuthorizationFailed           Code = 29  // TOPIC_AUTHORIZATION_FAILED
	GroupAuthorizationFailed           Code = 30  // GROUP_AUTHORIZATION_FAILED
	ClusterAuthorizationFailed         Code = 31  // CLUSTER_AUTHORIZATION_FAILED
	InvalidTimestamp                   Code = 32  // INVALID_TIMESTAMP
	UnsupportedSaslMechanism           Code = 33  // UNSUPPORTED_SASL_MECHANISM
	IllegalSaslState                   Code = 34  // ILLEGAL_SASL_STATE
	UnsupportedVersion                 Code = 35  // UNSUPPORTED_VERSION
	TopicAlreadyExists                 Code = 36  // TOPIC_ALREADY_EXISTS
	InvalidPartitions                  Code = 37  // INVALID_PARTITIONS
	InvalidReplicationFactor           Code = 38  // INVALID_REPLICATION_FACTOR
	InvalidReplicaAssignment           Code = 39  // INVALID_REPLICA_ASSIGNMENT
	InvalidConfig                      Code = 40  // INVALID_CONFIG
	NotController                      Code = 41  // NOT_CONTROLLER
	InvalidRequest                     Code = 42  // INVALID_REQUEST
	UnsupportedForMessageFormat        Code = 43  // UNSUPPORTED_FOR_MESSAGE_FORMAT
	PolicyViolation                    Code = 44  // POLICY_VIOLATION
	OutOfOrderSequenceNumber           Code = 45  // OUT_OF_ORDER_SEQUENCE_NUMBER
	DuplicateSequenceNumber            Code = 46  // DUPLICATE_SEQUENCE_NUMBER
	InvalidProducerEpoch               Code = 47  // INVALID_PRODUCER_EPOCH
	InvalidTxnState                    Code = 48  // INVALID_TXN_STATE
	InvalidProducerIDMapping           Code = 49  // INVALID_PRODUCER_ID_MAPPING
	InvalidTransactionTimeout          Code = 50  // INVALID_TRANSACTION_TIMEOUT
	ConcurrentTransactions             Code = 51  // CONCURRENT_TRANSACTIONS
	TransactionCoordinatorFenced       Code = 52  // TRANSACTION_COORDINATOR_FENCED
	TransactionalIDAuthorizationFailed Code = 53  // TRANSACTIONAL_ID_AUTHORIZATION_FAILED
	SecurityDisabled                   Code = 54  // SECURITY_DISABLED
	OperationNotAttempted              Code = 55  // OPERATION_NOT_ATTEMPTED
	KafkaStorageError                  Code = 56  // KAFKA_STORAGE_ERROR
	LogDirNotFound                     Code = 57  // LOG_DIR_NOT_FOUND
	SaslAuthenticationFailed           Code = 58  // SASL_AUTHENTICATION_FAILED
	UnknownProducerID                  Code = 59  // UNKNOWN_PRODUCER_ID
	ReassignmentInProgress             Code = 60  // REASSIGNMENT_IN_PROGRESS
	DelegationTokenAuthDisabled        Code = 61  // DELEGATION_TOKEN_AUTH_DISABLED
	DelegationTokenNotFound            Code = 62  // DELEGATION_TOKEN_NOT_FOUND
	DelegationTokenOwnerMismatch       Code = 63  // DELEGATION_TOKEN_OWNER_MISMATCH
	DelegationTokenRequestNotAllowed   Code = 64  // DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
	DelegationTokenAuthorizationFailed Code = 65  // DELEGATION_TOKEN_AUTHORIZATION_FAILED
	DelegationTokenExpired             Code = 66  // DELEGATION_TOKEN_EXPIRED
	InvalidPrincipalType               Code = 67  // INVALID_PRINCIPAL_TYPE
	NonEmptyGroup                      Code = 68  // NON_EMPTY_GROUP
	GroupIDNotFound                    Code = 69  // GROUP_ID_NOT_FOUND
	FetchSessionIDNotFound             Code = 70  // FETCH_SESSION_ID_NOT_FOUND
	InvalidFetchSessionEpoch           Code = 71  // INVALID_FETCH_SESSION_EPOCH
	ListenerNotFound                   Code = 72  // LISTENER_NOT_FOUND
	TopicDeletionDisabled              Code = 73  // TOPIC_DELETION_DISABLED
	FencedLeaderEpoch                  Code = 74  // FENCED_LEADER_EPOCH
	UnknownLeaderEpoch                 Code = 75  // UNKNOWN_LEADER_EPOCH
	UnsupportedCompressionType         Code = 76  // UNSUPPORTED_COMPRESSION_TYPE
	StaleBrokerEpoch                   Code = 77  // STALE_BROKER_EPOCH
	OffsetNotAvailable                 Code = 78  // OFFSET_NOT_AVAILABLE
	MemberIDRequired                   Code = 79  // MEMBER_ID_REQUIRED
	PreferredLeaderNotAvailable        Code = 80  // PREFERRED_LEADER_NOT_AVAILABLE
	GroupMaxSizeReached                Code = 81  // GROUP_MAX_SIZE_REACHED
	FencedInstanceID                   Code = 82  // FENCED_INSTANCE_ID
	EligibleLeadersNotAvailable        Code = 83  // ELIGIBLE_LEADERS_NOT_AVAILABLE
	ElectionNotNeeded                  Code = 84  // ELECTION_NOT_NEEDED
	NoReassignmentInProgress           Code = 85  // NO_REASSIGNMENT_IN_PROGRESS
	GroupSubscribedToTopic             Code = 86  // GROUP_SUBSCRIBED_TO_TOPIC
	InvalidRecord                      Code = 87  // INVALID_RECORD
	UnstableOffsetCommit               Code = 88  // UNSTABLE_OFFSET_COMMIT
	ThrottlingQuotaExceeded            Code = 89  // THROTTLING_QUOTA_EXCEEDED
	ProducerFenced                     Code = 90  // PRODUCER_FENCED
	ResourceNotFound                   Code = 91  // RESOURCE_NOT_FOUND
	DuplicateResource                  Code = 92  // DUPLICATE_RESOURCE
	UnacceptableCredential             Code = 93  // UNACCEPTABLE_CREDENTIAL
	InconsistentVoterSet               Code = 94  // INCONSISTENT_VOTER_SET
	InvalidUpdateVersion               Code = 95  // INVALID_UPDATE_VERSION
	FeatureUpdateFailed                Code = 96  // FEATURE_UPDATE_FAILED
	PrincipalDeserializationFailure    Code = 97  // PRINCIPAL_DESERIALIZATION_FAILURE
	SnapshotNotFound                   Code = 98  // SNAPSHOT_NOT_FOUND
	UnknownTopicID                     Code = 100 // UNKNOWN_TOPIC_ID
	DuplicateBrokerRegistration        Code = 101 // DUPLICATE_BROKER_REGISTRATION
	BrokerIDNotRegistered              Code = 102 // BROKER_ID_NOT_REGISTERED
	InconsistentTopicID                Code = 103 // INCONSISTENT_TOPIC_ID
	InconsistentClusterID              Code = 104 // INCONSISTENT_CLUSTER_ID
)

type property struct {
	name            string
	retriable       bool // a Java client tries again
	refreshMetadata bool // and asks for metadata first
}

var properties = map[Code]property{
	UnknownServerError:                 {"UNKNOWN_SERVER_ERROR", false, false},
	None:                               {"NONE", false, false},
	OffsetOutOfRange:                   {"OFFSET_OUT_OF_RANGE", false, false},
	CorruptMessage:                     {"CORRUPT_MESSAGE", true, false},
	UnknownTopicOrPartition:            {"UNKNOWN_TOPIC_OR_PARTITION", true, true},
	InvalidFetchSize:                   {"INVALID_FETCH_SIZE", false, false},
	LeaderNotAvailable:                 {"LEADER_NOT_AVAILABLE", true, true},
	NotLeaderOrFollower:                {"NOT_LEADER_OR_FOLLOWER", true, true},
	RequestTimedOut:                    {"REQUEST_TIMED_OUT", true, false},
	BrokerNotAvailable:                 {"BROKER_NOT_AVAILABLE", false, false},
	ReplicaNotAvailable:                {"REPLICA_NOT_AVAILABLE", true, true},
	MessageTooLarge:                    {"MESSAGE_TOO_LARGE", false, false},
	StaleControllerEpoch:               {"STALE_CONTROLLER_EPOCH", false, false},
	OffsetMetadataTooLarge:             {"OFFSET_METADATA_TOO_LARGE", false, false},
	NetworkException:                   {"NETWORK_EXCEPTION", true, true},
	CoordinatorLoadInProgress:          {"COORDINATOR_LOAD_IN_PROGRESS", true, false},
	CoordinatorNotAvailable:            {"COORDINATOR_NOT_AVAILABLE", true, false},
	NotCoordinator:                     {"NOT_COORDINATOR", true, false},
	InvalidTopicException:              {"INVALID_TOPIC_EXCEPTION", false, false},
	RecordListTooLarge:                 {"RECORD_LIST_TOO_LARGE", false, false},
	NotEnoughReplicas:                  {"NOT_ENOUGH_REPLICAS", true, false},
	NotEnoughReplicasAfterAppend:       {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", true, false},
	InvalidRequiredAcks:                {"INVALID_REQUIRED_ACKS", false, false},
	IllegalGeneration:                  {"ILLEGAL_GENERATION", false, false},
	InconsistentGroupProtocol:          {"INCONSISTENT_GROUP_PROTOCOL", false, false},
	InvalidGroupID:                     {"INVALID_GROUP_ID", false, false},
	UnknownMemberID:                    {"UNKNOWN_MEMBER_ID", false, false},
	InvalidSessionTimeout:              {"INVALID_SESSION_TIMEOUT", false, false},
	RebalanceInProgress:                {"REBALANCE_IN_PROGRESS", false, false},
	InvalidCommitOffsetSize:            {"INVALID_COMMIT_OFFSET_SIZE", false, false},
	TopicAuthorizationFailed:           {"TOPIC_AUTHORIZATION_FAILED", false, false},
	GroupAuthorizationFailed:           {"GROUP_AUTHORIZATION_FAILED", false, false},
	ClusterAuthorizationFailed:         {"CLUSTER_AUTHORIZATION_FAILED", false, false},
	InvalidTimestamp:                   {"INVALID_TIMESTAMP", false, false},
	UnsupportedSaslMechanism:           {"UNSUPPORTED_SASL_MECHANISM", false, false},
	IllegalSaslState:                   {"ILLEGAL_SASL_STATE", false, false},
	UnsupportedVersion:                 {"UNSUPPORTED_VERSION", false, false},
	TopicAlreadyExists:                 {"TOPIC_ALREADY_EXISTS", false, false},
	InvalidPartitions:                  {"INVALID_PARTITIONS", false, false},
	InvalidReplicationFactor:           {"INVALID_REPLICATION_FACTOR", false, false},
	InvalidReplicaAssignment:           {"INVALID_REPLICA_ASSIGNMENT", false, false},
	InvalidConfig:                      {"INVALID_CONFIG", false, false},
	NotController:                      {"NOT_CONTROLLER", true, false},
	InvalidRequest:                     {"INVALID_REQUEST", false, false},
	UnsupportedForMessageFormat:        {"UNSUPPORTED_FOR_MESSAGE_FORMAT", false, false},
	PolicyViolation:                    {"POLICY_VIOLATION", false, false},
	OutOfOrderSequenceNumber:           {"OUT_OF_ORDER_SEQUENCE_NUMBER", false, false},
	DuplicateSequenceNumber:            {"DUPLICATE_SEQUENCE_NUMBER", false, false},
	InvalidProducerEpoch:               {"INVALID_PRODUCER_EPOCH", false, false},
	InvalidTxnState:                    {"INVALID_TXN_STATE", false, false},
	InvalidProducerIDMapping:           {"INVALID_PRODUCER_ID_MAPPING", false, false},
	InvalidTransactionTimeout:          {"INVALID_TRANSACTION_TIMEOUT", false, false},
	ConcurrentTransactions:             {"CONCURRENT_TRANSACTIONS", false, false},
	TransactionCoordinatorFenced:       {"TRANSACTION_COORDINATOR_FENCED", false, false},
	TransactionalIDAuthorizationFailed: {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED", false, false},
	SecurityDisabled:                   {"SECURITY_DISABLED", false, false},
	OperationNotAttempted:              {"OPERATION_NOT_ATTEMPTED", false, false},
	KafkaStorageError:                  {"KAFKA_STORAGE_ERROR", true, true},
	LogDirNotFound:                     {"LOG_DIR_NOT_FOUND", false, false},
	SaslAuthenticationFailed:           {"SASL_AUTHENTICATION_FAILED", false, false},
	UnknownProducerID:                  {"UNKNOWN_PRODUCER_ID", false, false},
	ReassignmentInProgress:             {"REASSIGNMENT_IN_PROGRESS", false, false},
	DelegationTokenAuthDisabled:        {"DELEGATION_TOKEN_AUTH_DISABLED", false, false},
	DelegationTokenNotFound:            {"DELEGATION_TOKEN_NOT_FOUND", false, false},
	DelegationTokenOwnerMismatch:       {"DELEGATION_TOKEN_OWNER_MISMATCH", false, false},
	DelegationTokenRequestNotAllowed:   {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", false, false},
	DelegationTokenAuthorizationFailed: {"DELEGATION_TOKEN_AUTHORIZATION_FAILED", false, false},
	DelegationTokenExpired:             {"DELEGATION_TOKEN_EXPIRED", false, false},
	InvalidPrincipalType:               {"INVALID_PRINCIPAL_TYPE", false, false},
	NonEmptyGroup:                      {"NON_EMPTY_GROUP", false, false},
	GroupIDNotFound:                    {"GROUP_ID_NOT_FOUND", false, false},
	FetchSessionIDNotFound:             {"FETCH_SESSION_ID_NOT_FOUND", true, false},
	InvalidFetchSessionEpoch:           {"INVALID_FETCH_SESSION_EPOCH", true, false},
	ListenerNotFound:                   {"LISTENER_NOT_FOUND", true, true},
	TopicDeletionDisabled:              {"TOPIC_DELETION_DISABLED", false, false},
	FencedLeaderEpoch:                  {"FENCED_LEADER_EPOCH", true, true},
	UnknownLeaderEpoch:                 {"UNKNOWN_LEADER_EPOCH", true, false},
	UnsupportedCompressionType:         {"UNSUPPORTED_COMPRESSION_TYPE", false, false},
	StaleBrokerEpoch:                   {"STALE_BROKER_EPOCH", false, false},
	OffsetNotAvailable:                 {"OFFSET_NOT_AVAILABLE", true, false},
	MemberIDRequired:                   {"MEMBER_ID_REQUIRED", false, false},
	PreferredLeaderNotAvailable:        {"PREFERRED_LEADER_NOT_AVAILABLE", true, true},
	GroupMaxSizeReached:                {"GROUP_MAX_SIZE_REACHED", false, false},
	FencedInstanceID:                   {"FENCED_INSTANCE_ID", false, false},
	EligibleLeadersNotAvailable:        {"ELIGIBLE_LEADERS_NOT_AVAILABLE", true, true},
	ElectionNotNeeded:                  {"ELECTION_NOT_NEEDED", true, true},
	NoReassignmentInProgress:           {"NO_REASSIGNMENT_IN_PROGRESS", false, false},
	GroupSubscribedToTopic:             {"GROUP_SUBSCRIBED_TO_TOPIC", false, false},
	InvalidRecord:                      {"INVALID_RECORD", false, false},
	UnstableOffsetCommit:               {"UNSTABLE_OFFSET_COMMIT", true, false},
	ThrottlingQuotaExceeded:            {"THROTTLING_QUOTA_EXCEEDED", true, false},
	ProducerFenced:                     {"PRODUCER_FENCED", false, false},
	ResourceNotFound:                   {"RESOURCE_NOT_FOUND", false, false},
	DuplicateResource:                  {"DUPLICATE_RESOURCE", false, false},
	UnacceptableCredential:             {"UNACCEPTABLE_CREDENTIAL", false, false},
	InconsistentVoterSet:               {"INCONSISTENT_VOTER_SET", false, false},
	InvalidUpdateVersion:               {"INVALID_UPDATE_VERSION", false, false},
	FeatureUpdateFailed:                {"FEATURE_UPDATE_FAILED", false, false},
	PrincipalDeserializationFailure:    {"PRINCIPAL_DESERIALIZATION_FAILURE", false, false},
	SnapshotNotFound:                   {"SNAPSHOT_NOT_FOUND", false, false},
	UnknownTopicID:                     {"UNKNOWN_TOPIC_ID", true, true},
	DuplicateBrokerRegistration:        {"DUPLICATE_BROKER_REGISTRATION", false, false},
	BrokerIDNotRegistered:              {"BROKER_ID_NOT_REGISTERED", false, false},
	InconsistentTopicID:                {"INCONSISTENT_TOPIC_ID", true, true},
	InconsistentClusterID:              {"INCONSISTENT_CLUSTER_ID", false, false},
}
