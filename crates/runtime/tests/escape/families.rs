//! The attacks that a single script can mount, by family: each name is a block in the family's
//! file, and a test.

macro_rules! families {
    ($($family:ident: [$($name:ident)*])*) => {$(
        mod $family {
            const SOURCE: &str = include_str!(concat!("attacks/", stringify!($family), ".py"));

            $(
                #[tokio::test]
                async fn $name() {
                    crate::attack::must_fail(SOURCE, stringify!($name)).await;
                }
            )*

            #[test]
            fn every_attack_in_the_file_is_a_test() {
                crate::attack::declares_all(SOURCE, &[$(stringify!($name)),*]);
            }
        }
    )*};
}

families! {
    host_files: [
        etc_shadow
        home_directories
        users_of_the_host
        credentials_of_well_known_tools
        docker_socket
        message_buses
        proc_1_root
        proc_1_cwd
        proc_1_exe
        environments_of_other_processes
        sysfs
        cgroup_tree
        debug_and_trace_file_systems
        device_nodes
        dangerous_devices_by_name
        mknod_block_device
        kernel_log
        kernel_memory
        sysrq_trigger
        core_pattern
        kernel_settings
        proc_files_outside_sys
        own_program_file
        read_only_file_through_own_memory
        read_only_file_through_a_pipe
        everything_but_the_scratch_places_is_read_only
        attributes_of_system_files
        immutable_flag_of_a_system_file
        freezing_and_trimming_the_hosts_disk
        harness_of_the_next_cell
        core_dump
    ]

    links: [
        symlink_to_a_host_file
        dotdot_above_the_root
        dotdot_by_descriptor
        dotdot_from_a_removed_directory
        dotdot_across_mounts
        proc_self_root
        proc_thread_self_root
        proc_self_cwd
        proc_self_fd_directories
        working_directory_by_descriptor_path
        proc_map_files
        reopening_a_read_only_descriptor
        descriptor_0_reopened_for_writing
        hard_link_to_a_system_program
        hard_link_through_a_magic_link
        exchanging_names_with_the_system
        handle_of_an_own_file
        handle_of_the_hosts_root
        moving_a_directory_from_under_a_walk
    ]

    mounts: [
        tmpfs
        bind
        remount_root_writable
        remount_bind_writable
        remount_with_set_user_id
        propagation
        second_proc
        sysfs
        cgroup_v1
        cgroup_v2
        overlay
        umount_proc
        umount_scratch
        umount_the_mask_of_a_proc_file
        pivot_root
        chroot
        fsopen
        fsconfig
        fsmount
        fspick
        open_tree
        open_tree_attr
        move_mount
        mount_setattr
        mount_program
        mount_flags
        writable_mounts
    ]

    namespaces: [
        unshare_user
        unshare_mount
        unshare_pid
        unshare_net
        unshare_ipc
        unshare_uts
        unshare_cgroup
        unshare_time
        unshare_everything_with_the_upper_half_set
        clone_user
        clone_each_namespace
        clone_user_with_the_upper_half_set
        clone3_user
        clone3_into_a_cgroup
        setns_own_namespaces
        namespaces_of_pid_1
        setns_by_pidfd
        parent_namespaces
        owner_of_a_namespace
        id_maps
        allowing_setgroups
        unshare_program
    ]

    privileges: [
        bare_run
        setuid_root
        setgid_root
        ids_of_the_overflow_user
        file_system_id
        setgroups
        chown
        capset
        ambient_capability
        inheritable_by_bounding_set
        secure_bits
        clearing_no_new_privs
        process_memory_map
        set_user_id_program
        own_set_user_id_program
        file_capability
        trusted_attribute
        filter_of_ones_own
        filter_that_asks_ones_own_supervisor
        landlock_of_ones_own
        nicer_than_others
        real_time
        real_time_disk
        raising_limits
        immunity_from_the_oom_killer
        audit_identity
        sudo
        saved_ids
        lowering_the_core_limit
    ]

    processes: [
        processes_in_sight
        ptrace_pid_1
        ptrace_own_child
        ptrace_traceme
        reading_memory_of_pid_1
        writing_memory_of_pid_1
        descriptors_of_pid_1
        advice_on_memory_of_pid_1
        comparing_with_pid_1
        pages_of_pid_1
        addresses_in_pid_1
        settings_of_pid_1
        limits_of_pid_1
        priorities_of_pid_1
        every_signal_to_pid_1
        stopping_pid_1
        signal_to_everybody
        signals_by_number
        handles_by_number
        child_of_pid_1
        making_cells
        arguments_of_processes
        group_and_session_of_its_own
    ]

    kernel: [
        bpf
        perf_event_open
        session_keyring
        add_key
        request_key
        userfaultfd
        io_uring_setup
        io_uring_enter
        io_uring_register
        init_module
        finit_module
        delete_module
        kexec
        reboot
        setting_the_clock
        waking_the_machine
        personality
        port_input_and_output
        modify_ldt
        swap
        process_accounting
        quotas
        kernel_log
        directory_cookies
        fanotify
        secret_memory
        nfs_server
        host_name
        hanging_up_the_terminal
        memory_policy
        page_zero
        poisoning_memory
        stirring_the_random_pool
        i386_calls
        i386_unshare
        vm86
        x32_calls
        asynchronous_input_and_output
        huge_pages
        huge_pages_of_every_size
        merging_pages_with_others
        keeping_others_off_a_core
        what_others_have_read
        mounts_by_number
        flushing_every_disk
        calls_of_later_kernels
        handles_on_processes_that_release_memory
        attributes_of_a_process
        commands_for_descriptors
    ]

    sockets: [
        netlink
        packet
        raw_ipv4
        raw_ipv6
        raw_with_flags
        family_with_the_upper_half_set
        vsock
        crypto
        bluetooth
        can
        xdp
        kcm
        tipc
        every_other_family
        packet_by_its_old_name
        ping
        the_internet
        cloud_metadata
        private_networks
        broadcast_and_multicast
        resolver
        interfaces
        configuring_interfaces
        privileged_socket_options
        packet_filter_tables
        forged_credentials
        abstract_names_of_host_services
        typing_into_the_terminal
        typing_with_the_upper_half_set
        pasting_into_the_console
        terminals
        pairs_of_other_families
        other_protocols
        out_of_band_data
        types_without_a_protocol
        streams_of_datagram_protocols
        drivers_on_top_of_a_connection
        programs_on_sockets
        handles_on_peers
        numbers_that_count_everybodys_sockets
        time_stamps
        memory_shared_with_the_network
        flow_labels
        headers_of_ones_own
        every_option_that_is_not_on_the_list
        connecting_by_sending
        buffers_of_ones_own_size
        requests_to_other_drivers
    ]

    ipc: [
        shared_memory_segments
        shared_memory_by_index
        shared_memory_of_well_known_keys
        message_queues
        semaphores
        posix_queues
        posix_shared_memory
        kernel_limits_of_the_namespace
    ]

    descriptors: [
        open_descriptors
        descriptors_that_a_program_inherits
        reading_from_the_output_pipes
        reopening_the_channel
        who_is_at_the_other_end
        identity_of_the_other_end
        handle_on_the_host
        network_namespace_of_the_channel
        file_of_the_channel
        descriptors_sent_to_the_host
        descriptors_received_from_the_host
        credentials_of_the_host
        signals_by_descriptor
        growing_the_output_pipe
        status_channel_of_pid_1
        control_groups_of_the_cell
        sealing_the_fate_of_the_cell_library
        asynchronous_input_for_others
        interfaces_of_the_host_through_the_channel
        addresses_of_the_host_through_the_channel
    ]

    leaks: [
        environment
        values_of_the_environment
        host_name
        identity_of_the_machine
        paths_of_mapped_files
        sources_of_mounts
        keys
        network_of_the_host
        kernel_addresses
        physical_memory_map
        physical_addresses
        kernel_tables_for_root
        kernel_stacks
        kernel_command_line
        interrupt_counts
        locks_of_other_processes
        numbers_of_processes_outside
        processes_in_the_load_average
        logins
        supplementary_groups
        scratch_is_empty
        grants_that_nobody_gave
        names_of_control_groups
        what_the_machine_does
        interrupts_in_the_statistics
        counters_among_the_settings
        settings_that_programs_read
    ]

    accepted: [
        time_since_boot
        boot_id
        kernel_version
        memory_of_the_machine
        processors_of_the_machine
        load_of_the_machine
        disk_of_the_machine
        programs_of_the_machine
        own_id_on_the_host
        time_zone_of_the_machine
    ]
}
